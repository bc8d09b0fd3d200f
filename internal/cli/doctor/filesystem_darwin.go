package doctor

import "golang.org/x/sys/unix"

// fileSystem returns the kind of file system that a directory is on, and what is wrong
// with it.
func fileSystem(dir string) (kind, why string) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return "", ""
	}
	kind = unix.ByteSliceToString(s.Fstypename[:])
	return kind, unfit(kind)
}
