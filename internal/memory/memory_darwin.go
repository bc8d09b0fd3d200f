package memory

import "golang.org/x/sys/unix"

// Total returns the bytes of the machine's memory; 0 means unknown.
func Total() uint64 {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return bytes
}

// Available returns 0, since macOS does not report available memory.
func Available() uint64 { return 0 }
