// Package envfile changes single settings of a .env and keeps everything else: other
// settings, comments, order and line ends. Before writing, the package checks that
// core/config reads the same values.
package envfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/atomicfile"
)

// A File is a .env in memory. The zero value is empty.
type File struct {
	path string // of the file itself, no link to it
	text string
	mode fs.FileMode // of the file; 0 where there is none
	vars map[string]string
}

// Open reads a .env, which may be missing. A syntax error is a [*config.Problem].
func Open(path string) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	f := &File{path: path}
	vars, err := config.ReadDotEnv(path)
	if err != nil {
		return nil, err
	}
	f.vars = vars
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	f.text, f.mode = string(b), info.Mode().Perm()
	return f, nil
}

// Get returns the value of a variable, and whether the file sets the variable.
func (f *File) Get(name string) (string, bool) {
	value, ok := f.vars[name]
	return value, ok
}

// Set sets a variable, unless the value is the same. An error means that a .env cannot
// hold the value, and that nothing has changed.
func (f *File) Set(name, value string) error {
	if old, ok := f.vars[name]; ok && old == value {
		return nil
	}
	text, ok := write(f.text, name, value)
	if !ok {
		return fmt.Errorf("%s: a .env cannot hold this value", name)
	}
	vars, ok := config.ParseDotEnv([]byte(text))
	if !ok || vars[name] != value || !sameNames(f.vars, vars, name) {
		return fmt.Errorf("%s cannot be set in %s without changing what is beside it; set it by hand", name, f.path)
	}
	f.text, f.vars = text, vars
	return nil
}

// sameNames reports whether two sets of variables have the same names, except for one
// added name.
func sameNames(before, after map[string]string, added string) bool {
	names := slices.Collect(maps.Keys(before))
	if _, ok := before[added]; !ok {
		names = append(names, added)
	}
	slices.Sort(names)
	return slices.Equal(names, slices.Sorted(maps.Keys(after)))
}

// Save writes the file atomically, readable by the user alone, and reports whether
// anything changed.
func (f *File) Save() (changed bool, err error) {
	const private = 0o600
	old, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the settings: %w", err)
	}
	missing := old == nil
	if string(old) == f.text && (missing || f.mode == private) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return false, fmt.Errorf("make the directory of the settings: %w", err)
	}
	if err := atomicfile.Write(f.path, []byte(f.text), private); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	f.mode = private
	return true, nil
}

// write returns a text with a variable set, and false if that is impossible.
func write(text, name, value string) (string, bool) {
	quoted, ok := quote(value)
	if !ok {
		return "", false
	}
	line := name + "=" + quoted
	if start, end, ok := find(text, name); ok {
		return text[:start] + line + text[end:], true
	}
	if at, ok := findExample(text, name); ok {
		return text[:at] + line + "\n" + text[at:], true
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line + "\n", true
}
