package sendfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Open opens a permitted file for reading. Open returns a *Refusal for every other path,
// and never blocks on a pipe or a device.
func (p *Policy) Open(path string) (*os.File, error) {
	refuse := func(why string) (*os.File, error) { return nil, &Refusal{path, why} }
	if path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return refuse("this is no path of a file.")
	}
	abs := p.Absolute(path)
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return refuse(p.unresolved(abs, err))
	}
	root, rel, why := p.find(resolved)
	if why != "" {
		return refuse(why)
	}
	if info, err := os.Lstat(resolved); err == nil && !info.Mode().IsRegular() {
		return refuse(irregular)
	}
	f, err := p.walk(root, rel)
	if err != nil {
		return refuse(reason(err))
	}
	return f, nil
}

const irregular = "it is a directory, a device or a pipe; only regular files are sent."

// unresolved explains why a path cannot be resolved. For a path outside the permitted
// directories, unresolved does not even reveal whether a file exists.
func (p *Policy) unresolved(abs string, err error) string {
	for _, dir := range p.places() {
		resolved, _ := filepath.EvalSymlinks(dir)
		for _, root := range []string{dir, resolved} {
			if _, ok := below(root, abs); ok && root != "" {
				return reason(err)
			}
		}
	}
	return p.allowed()
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "there is no such file."
	case errors.Is(err, fs.ErrPermission):
		return "the gateway may not read it."
	case errors.Is(err, errIrregular):
		return irregular
	case errors.Is(err, errWithheld):
		return withheld
	case errors.Is(err, unix.ELOOP):
		return "it was replaced while it was opened."
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return "it cannot be opened: " + err.Error() + "."
}

var (
	errIrregular = errors.New("no regular file")
	errWithheld  = errors.New("below a withheld directory")
)

// walk opens the file at rel below root one path element at a time, and follows no
// symbolic link, to exclude links inserted after the check. Directories are compared with
// the withheld directories, which may have alternative names.
func (p *Policy) walk(root, rel string) (*os.File, error) {
	var never []fs.FileInfo
	if media, err := filepath.EvalSymlinks(p.Media); err != nil || media != root { // Media is exempt
		for _, dir := range p.Withheld {
			if info, err := os.Stat(dir); err == nil {
				never = append(never, info)
			}
		}
	}
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	elements := strings.Split(rel, "/")
	for i, name := range elements {
		fd, err := unix.Openat(int(f.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		f = os.NewFile(uintptr(fd), name)
		info, err := f.Stat()
		switch last := i == len(elements)-1; {
		case err != nil:
		case last && !info.Mode().IsRegular():
			err = errIrregular
		case slices.ContainsFunc(never, func(w fs.FileInfo) bool { return os.SameFile(info, w) }):
			err = errWithheld
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}
