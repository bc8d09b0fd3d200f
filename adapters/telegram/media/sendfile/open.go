package sendfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// errMoved: what was looked at is not what was opened.
var errMoved = errors.New("it was replaced while it was opened")

// Open opens a file that may be sent, for reading. It returns a *Refusal where there
// is none, and never waits for what is at the other end of a pipe or a device.
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
	f, err := p.walk(root, rel)
	switch {
	case errors.Is(err, errIrregular):
		return refuse("it is a directory, a device or a pipe; only regular files are sent.")
	case errors.Is(err, errWithheld):
		return refuse("it is in a directory of the gateway's own, which is never sent from.")
	case err != nil:
		return refuse(reason(err))
	}
	return f, nil
}

// unresolved says why there is nothing at a path. Of what is elsewhere than where
// may be sent from not even that is said.
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

// reason says for a person why a file could not be opened.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "there is no such file."
	case errors.Is(err, fs.ErrPermission):
		return "the gateway may not read it."
	case errors.Is(err, errMoved):
		return errMoved.Error() + "."
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

// walk opens a file by the path below a root, one element at a time, each of which
// must be what it was when it was looked at: neither a symbolic link that has come
// in between nor another name of a withheld directory leads anywhere.
func (p *Policy) walk(root, rel string) (*os.File, error) {
	withheld := p.withheldInfos()
	if media, err := filepath.EvalSymlinks(p.Media); err == nil && media == root {
		withheld = nil // it is below one of them
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	elements := strings.Split(rel, "/")
	for _, name := range elements[:len(elements)-1] {
		next, err := enter(dir, name, withheld)
		_ = dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	defer func() { _ = dir.Close() }()
	return openRegular(dir, elements[len(elements)-1])
}

// enter opens a directory in another one.
func enter(dir *os.Root, name string, withheld []fs.FileInfo) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errMoved
	}
	if slices.ContainsFunc(withheld, func(w fs.FileInfo) bool { return os.SameFile(seen, w) }) {
		return nil, errWithheld
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, got) {
		err = errMoved
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// openRegular opens a file in a directory. Should it have become a pipe since it was
// looked at, opening it does not block.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(seen, got) {
		err = errMoved
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// withheldInfos returns what the withheld directories are, by whatever name.
func (p *Policy) withheldInfos() []fs.FileInfo {
	var infos []fs.FileInfo
	for _, dir := range p.Withheld {
		if info, err := os.Stat(dir); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}
