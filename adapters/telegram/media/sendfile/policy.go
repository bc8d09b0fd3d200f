// Package sendfile opens the files that may be sent out: regular files below directories
// chosen by the operator, except hidden and withheld files. A request may come from an
// agent under prompt injection. Permission therefore depends on the file's real
// location, regardless of the path's spelling and of concurrent renames.
package sendfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

const withheld = "it is in a directory of the gateway's own, which is never sent from."

// maxPath is the maximum length of a path, in bytes: PATH_MAX of Linux.
const maxPath = 4096

// A Policy defines which files may be sent. Directories are absolute paths; missing
// directories are ignored. The methods of a Policy are safe for concurrent use.
type Policy struct {
	Base     string   // base of relative paths
	Media    string   // permitted, though inside a withheld directory
	Roots    []string // permitted
	Withheld []string // never permitted, except for files below Media
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
		rel, ok := below(root, resolved)
		switch {
		case !ok:
		case hidden(rel):
			why = "hidden files, and files in hidden directories, are never sent."
		case p.withheld(resolved):
			why = withheld
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
		if _, ok := below(media, resolved); ok {
			return false
		}
	}
	for _, dir := range p.Withheld {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if _, ok := below(dir, resolved); ok {
			return true
		}
	}
	return false
}

func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

func hidden(rel string) bool {
	return rel != "." && (strings.HasPrefix(rel, ".") || strings.Contains(rel, "/."))
}
