// Package memory measures the memory of the machine.
package memory

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

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

// limit returns the memory limit of the process's control groups below the root of a Linux
// machine, 0 without a limit: of the group of version 2, and of the group of version 1's
// memory controller. Unreadable files count as no limit.
//
// Parent groups limit a group too. In a container the path of the group may be the host's
// path, although only the own group is mounted: limit reads every existing directory on
// that path, and the mount itself.
func limit(root fs.FS) (least uint64) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		var mount, name string
		if controllers == "" {
			mount, name = mountPoint(root, "cgroup2", ""), "memory.max"
		} else if slices.Contains(strings.Split(controllers, ","), "memory") {
			mount, name = mountPoint(root, "cgroup", "memory"), "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + group); mount != ""; dir = path.Dir(dir) {
			least = lesser(least, groupLimit(root, path.Join(mount, dir, name)))
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// mountPoint returns where a file system of a kind with an option is mounted first, relative to
// root: later mounts may be of a part. It is empty for none.
func mountPoint(root fs.FS, kind, option string) string {
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo") // proc_pid_mountinfo(5)
	for line := range strings.Lines(string(mounts)) {
		mount, system, _ := strings.Cut(line, " - ")
		of, is := strings.Fields(mount), strings.Fields(system)
		if len(of) > 4 && len(is) > 2 && is[0] == kind && (option == "" || slices.Contains(strings.Split(is[2], ","), option)) {
			return strings.TrimPrefix(of[4], "/")
		}
	}
	return ""
}

// groupLimit reads the limit of a group, 0 without a limit. Version 2 writes "max" for no
// limit, and version 1 the largest number of whole pages.
func groupLimit(root fs.FS, name string) uint64 {
	const beyondAny = 1 << 62
	b, _ := fs.ReadFile(root, name)
	bytes, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || bytes >= beyondAny {
		return 0
	}
	return bytes
}

// lesser returns the smaller of two amounts; 0 means unknown.
func lesser(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
