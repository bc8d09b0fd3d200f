package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// limit returns the memory limit of the process's control groups below the root of a Linux
// machine, 0 without a limit. Unreadable files count as no limit.
//
// Parent groups limit a group too. In a container the path of the group may be the host's
// path, although only the own group is mounted: limit reads every existing directory on
// that path, and the mount itself.
func limit(root fs.FS) uint64 {
	least := uint64(0)
	for _, g := range groups(root) {
		for dir := path.Clean("/" + g.path); ; dir = path.Dir(dir) {
			least = lesser(least, groupLimit(root, path.Join(g.mount, dir, g.file)))
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// A group is where the limit of a control group stands.
type group struct {
	mount string // below the root
	path  string // below the mount
	file  string
}

// groups returns the groups that may limit the memory of the process: the group of version
// 2, and the group of version 1's memory controller.
func groups(root fs.FS) []group {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all []group
	for line := range strings.Lines(string(b)) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, dir, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case id == "0" && controllers == "":
			for _, mount := range mounts(root, "cgroup2", "") {
				all = append(all, group{mount, dir, "memory.max"})
			}
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			for _, mount := range mounts(root, "cgroup", "memory") {
				all = append(all, group{mount, dir, "memory.limit_in_bytes"})
			}
		}
	}
	return all
}

// mounts returns the mount points of a type of file system, without the leading slash. An
// option selects mounts with that option.
func mounts(root fs.FS, kind, option string) []string {
	b, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var all []string
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		// 36 35 98:0 /root /mount/point options … - type source super,options
		before, after, ok := strings.Cut(lines.Text(), " - ")
		place, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(place) < 5 || len(what) < 3 || what[0] != kind {
			continue
		}
		if option == "" || slices.Contains(strings.Split(what[2], ","), option) {
			all = append(all, strings.TrimPrefix(place[4], "/"))
		}
	}
	return all
}

// groupLimit reads the limit of a group, 0 without a limit. Version 2 writes "max" for no
// limit, and version 1 the largest number of whole pages.
func groupLimit(root fs.FS, name string) uint64 {
	b, err := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return 0
	}
	const beyondAny = 1 << 62
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
