//go:build !linux

package main

import "os"

// datasync makes a file durable.
func datasync(f *os.File) error { return f.Sync() }

func (m *machine) detail(string) error {
	m.FileSystem = "unknown file system"
	return nil
}
