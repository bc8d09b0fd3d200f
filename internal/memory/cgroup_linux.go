package memory

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// limit returns the memory limit of the process's control groups below the root of a Linux
// machine, 0 without a limit: of the group of version 2, and of the group of version 1's
// memory controller. Unreadable files count as no limit.
//
// Parent groups limit a group too. In a container the path of the group may be the host's
// path, although only the own group is mounted: limit reads every existing directory on
// that path, and the mount itself.
func limit(root fs.FS) (least uint64) {
	for _, line := range lines(root, "proc/self/cgroup") {
		id, rest, _ := strings.Cut(line, ":")
		controllers, dir, ok := strings.Cut(rest, ":")
		kind, option, file := "cgroup", "memory", "memory.limit_in_bytes"
		if id == "0" && controllers == "" {
			kind, option, file = "cgroup2", "", "memory.max"
		} else if !slices.Contains(strings.Split(controllers, ","), option) {
			ok = false
		}
		if !ok {
			continue
		}
		for _, mount := range mounts(root, kind, option) {
			for dir := path.Clean("/" + dir); ; dir = path.Dir(dir) {
				least = lesser(least, groupLimit(root, path.Join(mount, dir, file)))
				if dir == "/" {
					break
				}
			}
		}
	}
	return least
}

// lines returns the lines of a file, none if it cannot be read.
func lines(root fs.FS, name string) []string {
	b, _ := fs.ReadFile(root, name)
	return strings.Split(string(b), "\n")
}

// mounts returns the mount points of a type of file system. An option selects mounts with
// that option.
func mounts(root fs.FS, kind, option string) (all []string) {
	for _, line := range lines(root, "proc/self/mountinfo") {
		// 36 35 98:0 /root /mount/point options … - type source super,options
		before, after, ok := strings.Cut(line, " - ")
		place, what := strings.Fields(before), strings.Fields(after)
		if ok && len(place) >= 5 && len(what) >= 3 && what[0] == kind && (option == "" || slices.Contains(strings.Split(what[2], ","), option)) {
			all = append(all, place[4])
		}
	}
	return all
}

// groupLimit reads the limit of a group, 0 without a limit. Version 2 writes "max" for no
// limit, and version 1 the largest number of whole pages.
func groupLimit(root fs.FS, name string) uint64 {
	const beyondAny = 1 << 62
	bytes, err := strconv.ParseUint(lines(root, strings.TrimPrefix(name, "/"))[0], 10, 64)
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
