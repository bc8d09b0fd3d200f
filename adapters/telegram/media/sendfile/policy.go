// Package sendfile opens the files that may be sent out: regular files below the
// directories that somebody chose, and nothing that is hidden or withheld. Who asks
// for a file may be an agent that was talked into it, so the answer depends on where
// the file really is, whatever the path looks like and whoever moves it meanwhile.
package sendfile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxPath is the longest path that is looked at, in bytes: PATH_MAX of Linux.
const maxPath = 4096

// A Policy says which files may be sent. Directories are absolute paths; those that
// do not exist count for nothing. Its methods are safe for concurrent use.
type Policy struct {
	Base     string   // what relative paths are relative to
	Media    string   // may be sent from, though it is below what is withheld
	Roots    []string // may be sent from
	Withheld []string // nothing below is sent, but for what is below Media
}

// A Refusal says, for a person, why a file is not sent and what would be.
type Refusal struct {
	Path string // as it was asked for
	Why  string // a sentence
}

func (r *Refusal) Error() string { return fmt.Sprintf("The file %q is not sent: %s", r.Path, r.Why) }

// Absolute returns the path that a file is asked for by when Base is another one
// than now.
func (p *Policy) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Base, path)
}

// find returns in which root a file is, as directory and path below it. All paths
// are without symbolic links.
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
			why = "it is in a directory of the gateway's own, which is never sent from."
		default:
			return root, rel, ""
		}
	}
	return "", "", why
}

// places returns the directories that may be sent from.
func (p *Policy) places() []string { return append([]string{p.Media}, p.Roots...) }

// allowed says what may be sent.
func (p *Policy) allowed() string {
	return "files are sent only from " + strings.Join(p.places(), ", ") + " and below."
}

// withheld reports whether a path is below a directory that nothing is sent from.
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

// below returns the path relative to a directory that it is in.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// hidden reports whether an element of a relative path begins with a dot.
func hidden(rel string) bool {
	return rel != "." && (strings.HasPrefix(rel, ".") || strings.Contains(rel, "/."))
}
