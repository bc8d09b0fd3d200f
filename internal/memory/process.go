package memory

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// A Size is the memory of a process, in bytes.
type Size struct {
	Resident     uint64 // all pages in memory
	Proportional uint64 // likewise, with a page that n processes share as an n-th of a page (PSS)
	Anonymous    uint64 // pages of no file
}

// SizeOf returns the size of a process. It fails on other systems than Linux, for processes of other users, and for
// processes that have ended.
func SizeOf(pid int) (Size, error) {
	rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return Size{}, fmt.Errorf("measure the memory of process %d: %w", pid, err)
	}
	return parseSize(rollup), nil
}

// parseSize reads the lines such as "Pss:   12345 kB" of /proc/PID/smaps_rollup.
func parseSize(rollup []byte) (s Size) {
	for line := range bytes.Lines(rollup) {
		words := bytes.Fields(line)
		if len(words) != 3 {
			continue
		}
		kB, err := strconv.ParseUint(string(words[1]), 10, 54)
		if err != nil {
			continue
		}
		switch string(words[0]) {
		case "Rss:":
			s.Resident = kB << 10
		case "Pss:":
			s.Proportional = kB << 10
		case "Anonymous:":
			s.Anonymous = kB << 10
		}
	}
	return s
}
