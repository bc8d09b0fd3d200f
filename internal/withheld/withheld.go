// Package withheld opens files below directories that somebody has granted, and never one in a
// directory that is withheld whatever is granted, such as the gateway's own. Where a file really is
// decides, regardless of the spelling of its path and of concurrent renames.
package withheld

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrWithheld means that a file is in a withheld directory.
var ErrWithheld = errors.New("it is in a directory of the gateway's own")

// Dirs are withheld directories, by absolute paths. Directories that do not exist are ignored.
type Dirs []string

// Contain reports whether a path, which has no symbolic links, is one of the directories or below one,
// or shows a process from within: its environment, memory and open files.
func (d Dirs) Contain(path string) bool {
	return ofProcess(path) || slices.ContainsFunc(d, func(dir string) bool {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		_, ok := Below(dir, path)
		return ok
	})
}

// ofProcess reports whether a path is one of /proc/PID.
func ofProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// Below returns the relative path of a path in a directory, and whether it is in it.
func Below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Open opens the file or directory at rel below root, with the flags of open(2). It goes one
// element of the path at a time and follows no symbolic link, to exclude links that were inserted
// after a check. It compares directories with the withheld ones, which may have other names as
// well. It never blocks on a pipe or a device. The caller has resolved the symbolic links of root.
func (d Dirs) Open(root, rel string, flag int, mode uint32) (*os.File, error) {
	var never []fs.FileInfo
	for _, dir := range d {
		if info, err := os.Stat(dir); err == nil {
			never = append(never, info)
		}
	}
	if rel == "." {
		return os.OpenFile(root, flag|unix.O_NONBLOCK, fs.FileMode(mode))
	}
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	names := strings.Split(rel, "/")
	last := len(names) - 1
	for _, name := range names[:last] {
		if f, err = enter(f, name, unix.O_RDONLY, 0, never); err != nil {
			return nil, err
		}
	}
	return enter(f, names[last], flag, mode, never)
}

// enter opens an entry of a directory, which it closes.
func enter(dir *os.File, name string, flag int, mode uint32, never []fs.FileInfo) (*os.File, error) {
	defer func() { _ = dir.Close() }()
	fd, err := -1, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) { // a signal may interrupt network file systems
		fd, err = unix.Openat(int(dir.Fd()), name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	info, err := f.Stat()
	if err == nil && slices.ContainsFunc(never, func(n fs.FileInfo) bool { return os.SameFile(info, n) }) {
		err = ErrWithheld
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
