package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// datasync makes the content of a file durable.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func (m *machine) detail(dir string) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	m.System = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	m.Load, _, _ = strings.Cut(string(load), " ")
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", dir, err)
	}
	m.FileSystem = fileSystem(int64(fs.Type)) //nolint:unconvert // it is 32 bits wide on some systems
	return nil
}

// fileSystem names the common ones: statfs(2).
func fileSystem(magic int64) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("type %#x", magic)
}
