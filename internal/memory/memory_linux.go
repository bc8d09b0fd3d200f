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
func Total() uint64 { return lesser(machine(), limit(os.DirFS("/"))) }

// machine returns the bytes of the machine's memory; 0 means unknown.
func machine() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits wide on some machines
}

// Available returns the bytes available to new programs without swapping; 0 means unknown.
// Limits of containers do not count.
func Available() uint64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return parseAvailable(b)
}

// parseAvailable reads the line "MemAvailable:   12345 kB" of /proc/meminfo.
func parseAvailable(meminfo []byte) uint64 {
	_, rest, _ := bytes.Cut(meminfo, []byte("MemAvailable:"))
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if len(fields) == 0 {
		return 0
	}
	kB, err := strconv.ParseUint(string(fields[0]), 10, 54)
	if err != nil {
		return 0
	}
	return kB << 10
}
