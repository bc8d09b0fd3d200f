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

// errMoved means that the opened file differs from the checked file.
var errMoved = errors.New("it was replaced while it was opened")

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

// reason explains to a person why a file could not be opened.
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

// walk opens the file at rel below root one path element at a time. Each opened element
// must be the element checked before, to exclude symbolic links inserted in the meantime
// and alternative names of withheld directories.
func (p *Policy) walk(root, rel string) (*os.File, error) {
	withheld := p.withheldInfos()
	if media, err := filepath.EvalSymlinks(p.Media); err == nil && media == root {
		withheld = nil // Media is exempt, though inside a withheld directory
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

// enter opens the subdirectory name of dir.
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

// openRegular opens a regular file in a directory. Opening does not block even if the
// file was replaced by a pipe after the check.
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

// withheldInfos returns the identities of the withheld directories, independent of
// names.
func (p *Policy) withheldInfos() []fs.FileInfo {
	var infos []fs.FileInfo
	for _, dir := range p.Withheld {
		if info, err := os.Stat(dir); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}
