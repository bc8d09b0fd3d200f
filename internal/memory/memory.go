// Package memory measures the memory of the machine and of processes.
package memory

import (
	"bytes"
	"os"
	"strconv"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Total returns the bytes of memory for this process and its children: the machine's
// memory, or the limit of the process's control groups if less. 0 means unknown.
func Total() uint64 {
	machine, _ := memlimit.FromSystem() // 0 after an error
	group, err := memlimit.FromCgroup()
	if err == nil && (machine == 0 || group < machine) {
		return group
	}
	return machine
}

// Available returns the bytes available to new programs without swapping; 0 means unknown,
// as on macOS. Limits of containers do not count.
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
