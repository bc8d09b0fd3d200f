package findings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/observe/rules"
)

// version is that of the form of the files.
const version = 1

// maxFile is how large a file may be that is read, in bytes.
const maxFile = 32 << 20

// A document is what the file of findings holds.
type document struct {
	Version  int      `json:"version"`
	Store    string   `json:"store"`
	Push     *Push    `json:"push,omitempty"`
	Round    *Round   `json:"round,omitempty"`
	Findings []record `json:"findings"`
}

// check returns an error if a document does not hold findings.
func (d *document) check() error {
	switch {
	case d.Version != version:
		return fmt.Errorf("it has version %d, and this program knows version %d", d.Version, version)
	case d.Store == "":
		return errors.New("it has no id")
	case len(d.Findings) > maxFindings:
		return fmt.Errorf("it has %d findings, more than %d", len(d.Findings), maxFindings)
	}
	known := map[string]bool{}
	for i := range d.Findings {
		f := &d.Findings[i].Finding
		states := []State{Open, Fixing, Resolved}
		severities := []rules.Severity{rules.Critical, rules.Warning, rules.Info}
		switch {
		case f.ID == "" || known[f.ID]:
			return fmt.Errorf("finding %d has no id of its own", i)
		case f.Rule == "" || f.Endpoint == "":
			return fmt.Errorf("finding %s has no rule or no endpoint", f.ID)
		case !slices.Contains(states, f.State):
			return fmt.Errorf("finding %s has the unknown state %q", f.ID, f.State)
		case !slices.Contains(severities, f.Severity):
			return fmt.Errorf("finding %s has the unknown severity %q", f.ID, f.Severity)
		case f.Fix != nil && !slices.Contains(statuses(), f.Fix.Status):
			return fmt.Errorf("the fix of finding %s has the unknown status %q", f.ID, f.Fix.Status)
		}
		known[f.ID] = true
	}
	return nil
}

// A file is a file of JSON in the directory of an app's observer.
type file struct {
	path string
	log  *slog.Logger

	// unusable says why the file must be renamed before it is written; nil: it need not be. Reads and writes
	// are never at the same time.
	unusable error

	// mu protects the field below.
	mu     sync.Mutex
	failed error // of the latest write
}

func newFile(path string, log *slog.Logger) *file {
	return &file{
		path: path,
		log:  log,
	}
}

// problem returns why the latest write failed; nil: it did not.
func (f *file) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// note notes the result of a write, and logs each change between failing and not failing once.
func (f *file) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil && f.failed == nil:
		f.log.Warn("a file cannot be written: what it is for is kept in memory, and writing is tried again", "file", f.path, "error", err)
	case err == nil && f.failed != nil:
		f.log.Info("a file can be written again", "file", f.path)
	}
	f.failed = err
}

// write replaces the file by a value as JSON.
func (f *file) write(v any) error {
	err := makeDir(filepath.Dir(f.path))
	if err == nil {
		err = refuseLink(f.path)
	}
	if err == nil {
		err = f.setAside()
	}
	if err == nil {
		err = atomicfile.WriteJSON(f.path, v)
	}
	f.note(err)
	return err
}

// read makes the directory, and reads the file into v. It returns false if there is none, or if check refuses what it holds:
// that file is set aside. A directory that cannot be made is a matter of [file.write].
func (f *file) read(v any, check func() error) (found bool, err error) {
	err = makeDir(filepath.Dir(f.path))
	if isRefusal := errors.As(err, new(*refusal)); isRefusal {
		return false, err
	}
	f.note(err)
	if err := refuseLink(f.path); err != nil {
		return false, err
	}
	f.removeTemporary()
	b, err := readFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", f.path, err)
	}
	f.unusable = json.Unmarshal(b, v)
	if f.unusable == nil {
		f.unusable = check()
	}
	found = f.unusable == nil
	if err := f.setAside(); err != nil {
		f.note(err)
	}
	return found, nil
}

// readFile returns what a file holds, at most one byte more than maxFile: that is no JSON.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// setAside renames a file that cannot be used, and logs that. It does nothing if the file is none such.
func (f *file) setAside() error {
	if f.unusable == nil {
		return nil
	}
	aside := f.path + ".corrupt-" + time.Now().UTC().Format("20060102T150405.000000Z")
	if err := os.Rename(f.path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rename what cannot be used (%w): %w", f.unusable, err)
	}
	f.log.Warn("a file could not be used, and was renamed; a new one is begun", "file", f.path, "renamed", aside, "error", f.unusable)
	f.unusable = nil
	return nil
}

// removeTemporary removes what writes have left that were killed.
func (f *file) removeTemporary() {
	dir, name := filepath.Split(f.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+name) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// A refusal says that something is in the way that a person must remove.
type refusal struct {
	path string
	what string
}

// Error returns what to do.
func (r *refusal) Error() string { return fmt.Sprintf("%s %s: remove or rename it", r.path, r.what) }

// refuseLink returns an error if there is something else than a regular file at a path.
func refuseLink(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return &refusal{path, "is a symbolic link"}
	case !info.Mode().IsRegular():
		return &refusal{path, "is not a regular file"}
	}
	return nil
}

// makeDir makes the directory if there is none, keeps other users out of it, and has Git ignore what it holds.
func makeDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &refusal{dir, "is a symbolic link"}
	case !info.IsDir():
		return &refusal{dir, "is not a directory"}
	case known && int(stat.Uid) != os.Getuid():
		return &refusal{dir, "belongs to another user"}
	case info.Mode().Perm() != 0o700:
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	ignore := filepath.Join(dir, ".gitignore")
	if err := refuseLink(ignore); err != nil {
		return err
	}
	if _, err := os.Lstat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Write(ignore, []byte("*\n"), 0o600)
}
