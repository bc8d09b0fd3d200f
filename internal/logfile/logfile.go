// Package logfile writes a log of bounded size: a full file is renamed to the newest of
// some old files, and a new file begins.
//
// Several processes may write the same log, as two gateways do during a hand-over. All of
// them only append, and a writer that finds the file rotated goes on in the new file.
//
// Other output of a process may go to the same file: see [File.Adopt].
package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"bareclaw/internal/lockfile"
)

// Name is the name of the gateway's log in the state directory.
const Name = "bareclaw.log"

// Bounds of a log: on disk a log takes at most Kept+1 files of the size given to [Open],
// and a line.
const (
	MaxBytes = 10 << 20 // size of a file of the gateway's log
	Kept     = 3        // number of old files
)

// A File is an open log. All methods are safe for concurrent use.
type File struct {
	path string
	max  int64

	mu      sync.Mutex // protects the fields below
	f       *os.File
	size    int64
	printed *os.File // goes where the log does; nil if nothing does
}

// Open opens a log whose files have at most maxBytes each. A missing log is created, with
// its directory, readable by the user alone.
func Open(path string, maxBytes int64) (*File, error) {
	l := &File{path: path, max: maxBytes}
	if err := l.reopen(); err != nil {
		return nil, err
	}
	return l, nil
}

// OpenAppend opens a log for the output of another process. A missing log is created as by
// [Open].
func OpenAppend(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the log's directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// Adopt reports whether output written to f goes to this log or one of its old files. From
// then on f follows the log through rotations under the same descriptor, so that a panic
// is found in the log too.
func (l *File) Adopt(f *os.File) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !IsLog(f, l.path) {
		return false
	}
	l.printed = f
	l.lead()
	return true
}

// IsLog reports whether f is the log at that path or one of its old files.
func IsLog(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	for n := range Kept + 1 {
		if st, err := os.Stat(Path(path, n)); err == nil && os.SameFile(have, st) {
			return true
		}
	}
	return false
}

// lead points the adopted descriptor at the current file. If that fails, output goes on to
// the old file.
func (l *File) lead() {
	if l.printed != nil {
		_ = unix.Dup2(int(l.f.Fd()), int(l.printed.Fd()))
	}
}

// Write appends a line. A line that cannot be written is lost, because a log must stop
// nobody. Write always returns len(p), nil.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.max {
		l.rotate()
	}
	n, _ := l.f.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

func (l *File) reopen() error {
	f, err := OpenAppend(l.path)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("open the log: %w", err)
	}
	if l.f != nil {
		_ = l.f.Close()
	}
	l.f, l.size = f, st.Size()
	l.lead()
	return nil
}

// rotate begins a new file, or goes on in the new file of another process. If neither
// works, rotate keeps the present file.
func (l *File) rotate() {
	l.size = 0                    // after a failure the next attempt comes after maxBytes more
	if lockfile.Try(l.f) != nil { // another process rotates the log
		_ = l.reopen()
		return
	}
	have, err := l.f.Stat()
	now, nowErr := os.Stat(l.path)
	if err == nil && nowErr == nil && os.SameFile(have, now) && have.Size() > 0 {
		err = shift(l.path)
	}
	_ = l.reopen() // releases the lock too
	if err != nil {
		l.size = 0
	}
}

// shift renames each file to the next older name, which makes room for a new file.
func shift(path string) error {
	for n := Kept - 1; n >= 0; n-- {
		if err := os.Rename(Path(path, n), Path(path, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// maxTail bounds what Since returns, in bytes.
const maxTail = 64 << 10

// Since returns the end of what was written to the present file of a log from a position on, without space around it, and the
// whole of the file if that has been rotated. After an error the part counts that was read.
func Since(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if info.Size() < from {
		from = 0
	}
	from = max(from, info.Size()-maxTail)
	text, _ := io.ReadAll(io.NewSectionReader(f, from, maxTail))
	return string(bytes.TrimSpace(text))
}

// Remove removes a log with its old files. It is no error that there is none.
func Remove(path string) error {
	for n := range Kept + 1 {
		err := os.Remove(Path(path, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Path returns the path of the nth file of a log: 0 is the present file, 1 the newest old
// file.
func Path(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}
