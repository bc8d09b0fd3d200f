// Package sendfile opens the files that may be sent out: regular files below directories
// chosen by the operator, except hidden and withheld files. A request may come from an
// agent under prompt injection. Permission therefore depends on the file's real
// location, regardless of the path's spelling and of concurrent renames.
package sendfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bareclaw/internal/withheld"
)

const ofGateway = "it is in a directory of the gateway's own, which is never sent from."

// maxPath is the maximum length of a path, in bytes: PATH_MAX of Linux.
const maxPath = 4096

// A Policy defines which files may be sent. Directories are absolute paths; missing
// directories are ignored. The methods of a Policy are safe for concurrent use.
type Policy struct {
	Base     string        // base of relative paths
	Media    string        // permitted, though inside a withheld directory
	Roots    []string      // permitted
	Withheld withheld.Dirs // never permitted, except for files below Media
}

// A Refusal explains to a person why a file is not sent and which files could be sent.
type Refusal struct {
	Path string // as requested
	Why  string // a full sentence
}

func (r *Refusal) Error() string { return fmt.Sprintf("The file %q is not sent: %s", r.Path, r.Why) }

// Absolute returns the absolute form of a requested path, for use after Base has
// changed.
func (p *Policy) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Base, path)
}

// find returns the permitted root that contains a file and the path below the root, or
// why no root does. All paths are free of symbolic links.
func (p *Policy) find(resolved string) (root, rel, why string) {
	why = p.allowed()
	for _, dir := range p.places() {
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		rel, ok := withheld.Below(root, resolved)
		switch {
		case !ok:
		case hidden(rel):
			why = "hidden files, and files in hidden directories, are never sent."
		case p.withheld(resolved):
			why = ofGateway
		default:
			return root, rel, ""
		}
	}
	return "", "", why
}

func (p *Policy) places() []string { return append([]string{p.Media}, p.Roots...) }

func (p *Policy) allowed() string {
	return "files are sent only from " + strings.Join(p.places(), ", ") + " and below."
}

func (p *Policy) withheld(resolved string) bool {
	if media, err := filepath.EvalSymlinks(p.Media); err == nil {
		if _, ok := withheld.Below(media, resolved); ok {
			return false
		}
	}
	return p.Withheld.Contain(resolved)
}

func hidden(rel string) bool {
	return rel != "." && (strings.HasPrefix(rel, ".") || strings.Contains(rel, "/."))
}

// Open opens a permitted file for reading. Open returns a *Refusal for every other path,
// and never blocks on a pipe or a device.
func (p *Policy) Open(path string) (*os.File, error) {
	refuse := func(why string) (*os.File, error) { return nil, &Refusal{path, why} }
	if path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return refuse("this is not the path of a file.")
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
			if _, ok := withheld.Below(root, abs); ok && root != "" {
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
	case errors.Is(err, withheld.ErrWithheld):
		return ofGateway
	case errors.Is(err, unix.ELOOP):
		return "it was replaced while it was opened."
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return "it cannot be opened: " + err.Error() + "."
}

var errIrregular = errors.New("no regular file")

// walk opens the regular file at rel below root.
func (p *Policy) walk(root, rel string) (*os.File, error) {
	never := p.Withheld
	if media, err := filepath.EvalSymlinks(p.Media); err == nil && media == root { // Media is exempt
		never = nil
	}
	f, err := never.Open(root, rel, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
