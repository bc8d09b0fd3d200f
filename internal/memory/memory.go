// Package memory knows how much memory the machine has.
package memory

// Total returns the bytes of the machine's memory, 0 if they are not known. The
// limit of a container is not taken into account.
func Total() uint64 { return total() }
