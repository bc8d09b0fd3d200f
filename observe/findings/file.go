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
	"strings"
	"sync"
	"syscall"
	"time"

	"bareclaw/internal/atomicfile"
)

// version is that of the form of the files.
const version = 1

// maxFile is how large a file may be that is read, in bytes.
const maxFile = 32 << 20

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

// note notes the result of a write, and logs each change between failing and not failing once, both at the level that people see.
func (f *file) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil && f.failed == nil:
		f.log.Warn("a file cannot be written: what it is for is kept in memory, and writing is tried again", "file", f.path, "error", err)
	case err == nil && f.failed != nil:
		f.log.Warn("a file can be written again", "file", f.path)
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
	if errors.As(err, new(*foreignError)) {
		f.unusable = err
		if err := f.setAside(); err != nil {
			f.note(err)
		}
		return false, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", f.path, err)
	}
	f.unusable = decode(b, v, check)
	found = f.unusable == nil
	if err := f.setAside(); err != nil {
		f.note(err)
	}
	return found, nil
}

// decode reads JSON into v, and checks it.
func decode(text []byte, v any, check func() error) error {
	if err := json.Unmarshal(text, v); err != nil {
		return err
	}
	return check()
}

// readFile returns what a file holds, at most one byte more than maxFile: that is no JSON. The error is a *foreignError if the
// file belongs to another user.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if stat, known := info.Sys().(*syscall.Stat_t); known && int(stat.Uid) != os.Getuid() {
		return nil, &foreignError{"it belongs to another user"}
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// setAside renames a file that cannot be used, and logs that. It does nothing if the file is none such.
func (f *file) setAside() error {
	if f.unusable == nil {
		return nil
	}
	kind := ".corrupt-"
	if errors.As(f.unusable, new(*foreignError)) {
		kind = ".foreign-"
	}
	aside := f.path + kind + time.Now().UTC().Format("20060102T150405.000000Z")
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

// A foreignError says why a file is not this user's own.
type foreignError struct{ reason string }

// Error returns the reason.
func (e *foreignError) Error() string { return e.reason }

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
	return atomicfile.Ensure(ignore, []byte("*\n"), 0o600)
}
