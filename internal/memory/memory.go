// Package memory measures the memory of the machine.
package memory

// Total returns the bytes of memory for this process and its children: the machine's
// memory, or on Linux the container's limit if that is less. 0 means unknown.
func Total() uint64 { return total() }

// Available returns the bytes that new programs may take without swapping others out; 0
// means unknown. Limits of containers do not count.
func Available() uint64 { return available() }
