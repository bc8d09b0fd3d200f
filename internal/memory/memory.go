// Package memory knows how much memory the machine has.
package memory

// Total returns the bytes of the machine's memory, 0 if they are not known. The
// limit of a container is not taken into account.
func Total() uint64 { return total() }

// Available returns how many bytes new programs may take without others being
// swapped out, 0 if that is not known. The limit of a container is not taken into
// account.
func Available() uint64 { return available() }
