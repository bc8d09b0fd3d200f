package doctor

import "golang.org/x/sys/unix"

// fileSystem returns the kind of a directory's file system, and why the kind is bad for
// lasting data.
func fileSystem(dir string) (kind, why string) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return "", ""
	}
	kind = unix.ByteSliceToString(s.Fstypename[:])
	return kind, unfit(kind)
}
