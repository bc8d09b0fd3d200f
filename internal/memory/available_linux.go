package memory

import (
	"bytes"
	"os"
	"strconv"
)

func available() uint64 {
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
