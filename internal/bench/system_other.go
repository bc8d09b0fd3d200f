//go:build !linux

package main

import (
	"os"
	"time"
)

// datasync makes a file durable.
func datasync(f *os.File) error { return f.Sync() }

func (m *machine) detail(string) error {
	m.fileSystem = "unknown file system"
	return nil
}

// Only Linux shows the arguments, the size and the processor time of other processes as they
// are needed.

func arguments(int) []string { return nil }

func sizeOf(int) (rss, pss float64, err error) { return 0, 0, errCannotSee }

func ownSizeOf(int) (float64, error) { return 0, errCannotSee }

func cpuOf(int) time.Duration { return 0 }
