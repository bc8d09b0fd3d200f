// Package memory knows how much memory there is.
package memory

// Total returns the bytes of memory that this process and those it starts may use:
// what the machine has, or the limit of the container, whichever is less (Linux;
// elsewhere what the machine has). It is 0 if that is not known.
func Total() uint64 { return total() }

// Available returns how many bytes new programs may take without others being
// swapped out, 0 if that is not known. The limit of a container is not taken into
// account.
func Available() uint64 { return available() }
