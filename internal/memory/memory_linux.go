// Package memory measures the memory of the machine.
package memory

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Total returns the bytes of memory for this process and its children: the machine's
// memory, or the container's limit if less. 0 means unknown.
func Total() uint64 {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)                              // 0 after an error
	machine := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits wide on some machines
	return lesser(machine, limit(os.DirFS("/")))
}

// Available returns the bytes available to new programs without swapping; 0 means unknown.
// Limits of containers do not count.
func Available() uint64 {
	b, _ := os.ReadFile("/proc/meminfo") // nothing is known without the file
	return parseAvailable(b)
}

// parseAvailable reads the line "MemAvailable:   12345 kB" of /proc/meminfo.
func parseAvailable(meminfo []byte) uint64 {
	_, rest, _ := bytes.Cut(meminfo, []byte("MemAvailable:"))
	number, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	kB, err := strconv.ParseUint(string(number), 10, 54)
	if err != nil {
		return 0
	}
	return kB << 10
}
