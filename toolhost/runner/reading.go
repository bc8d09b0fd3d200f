package runner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/toolhost/api"
)

// readFiles compiles the files of the tools directory whose contents have changed, for some time. It
// reports whether files are left, and why the directory could not be read.
func (l *loader) readFiles() (more bool, err error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return false, fmt.Errorf("read the tools directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return false, fmt.Errorf("read the tools directory: %w", err)
	}
	present, compiled, began := map[string]bool{}, 0, time.Now()
	l.noteStrays(entries)
	for _, e := range entries {
		if !isToolFile(e.Name()) {
			continue
		}
		present[e.Name()] = true
		if l.files[e.Name()] == nil {
			l.files[e.Name()] = &file{}
		}
		switch l.readFile(root, e.Name(), compiled > 0 && time.Since(began) > l.longest) {
		case isCompiled:
			compiled++
			l.stale = true
		case isLeft:
			more = true
		}
	}
	for name, f := range l.files {
		if !present[name] {
			f.replace(nil)
			delete(l.files, name)
			l.stale = true
			l.log.Info("tool file gone", "file", name)
		}
	}
	b, err := api.ReadSource(root, api.DeletedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return more, fmt.Errorf("read the list of deleted tools: %w", err)
	}
	var deleted []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		deleted = append(deleted, strings.TrimSpace(s.Text()))
	}
	if !slices.Equal(deleted, l.deleted) {
		l.deleted, l.stale = deleted, true
	}
	return more, nil
}

// isToolFile reports whether a file may define a tool, by its name.
func isToolFile(name string) bool {
	return strings.HasSuffix(name, ".ts") && !strings.HasSuffix(name, ".d.ts") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// isStray reports whether a file looks like a tool, by its name, and is none.
func isStray(name string) bool {
	return slices.Contains([]string{".js", ".mjs", ".cjs", ".jsx", ".tsx", ".mts", ".cts"}, filepath.Ext(name)) && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// noteStrays notes the files that look like tools and are none, except for what was made of a tool.
func (l *loader) noteStrays(entries []fs.DirEntry) {
	var strays []string
	for _, e := range entries {
		source := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) + ".ts"
		if !isStray(e.Name()) || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == source }) {
			continue
		}
		strays = append(strays, e.Name())
		if !slices.Contains(l.strays, e.Name()) {
			l.log.Warn("a file is not a tool, because its name does not end in .ts", "file", e.Name())
		}
	}
	l.strays = strays
}

// A reading is what was done about a file.
type reading int

const (
	isKnown    reading = iota // the file is as it was, or cannot be read
	isCompiled                // the file has changed
	isLeft                    // the same, and it is not loaded yet
)

// readFile loads a file if its contents have changed, or leaves it for another time.
func (l *loader) readFile(root *os.Root, name string, leave bool) reading {
	f := l.files[name]
	source, err := api.ReadSource(root, name)
	if err != nil {
		f.sum = [sha256.Size]byte{}
		return l.refuse(f, name, fmt.Sprintf("%s: %v", name, err))
	}
	sum := sha256.Sum256(source)
	switch {
	case f.sum == sum:
		return isKnown
	case leave:
		return isLeft
	}
	f.sum = sum
	contents := fileOf(name, source)
	if why, skipped := l.skipped[contents]; skipped {
		return l.refuse(f, name, fmt.Sprintf("%s: %s; the file is left out until it changes or worker_restart is called", name, why))
	}
	if err := l.tryReplace(f, contents, source); err != nil {
		l.refuse(f, name, err.Error())
	}
	return isCompiled
}

func fileOf(name string, source []byte) api.File {
	sum := sha256.Sum256(source)
	return api.File{Name: name, Sum: hex.EncodeToString(sum[:])}
}

// refuse notes why the contents of a file are not loaded. The last version that could be loaded serves, also
// if an earlier process has loaded it.
func (l *loader) refuse(f *file, name, problem string) (did reading) {
	if f.script == nil && !f.triedGood {
		f.triedGood = true
		if l.loadGood(f, name) {
			did = isCompiled
		}
	}
	l.fail(f, problem)
	return did
}

// loadGood loads the last good version of a file, and reports whether there is one.
func (l *loader) loadGood(f *file, name string) bool {
	root, err := os.OpenRoot(l.good)
	if err != nil {
		return false // the daemon has kept none
	}
	defer func() { _ = root.Close() }()
	source, err := api.ReadSource(root, name)
	contents := fileOf(name, source)
	if err != nil || contents.Sum == hex.EncodeToString(f.sum[:]) {
		return false
	}
	if _, skipped := l.skipped[contents]; skipped {
		return false
	}
	if err := l.tryReplace(f, contents, source); err != nil {
		l.log.Warn("the last good version of a file does not serve", "file", name, "err", err)
		return false
	}
	return true
}
