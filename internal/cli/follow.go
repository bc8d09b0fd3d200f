package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/logfile"
	"bareclaw/internal/term"
)

// followEvery is the time between two looks at a followed log.
const followEvery = 200 * time.Millisecond

// A follower prints each new line of a log once, whichever process writes it, also across
// rotations.
type follower struct {
	c    *command.Context
	path string
	now  *tail // the newest file; nil before the first
	last *tail // the previous file, where another process may still write; may be nil
}

// A tail is the unread end of a file.
type tail struct {
	f    *os.File
	info fs.FileInfo // identifies the file
	read int64
	part string // an unfinished line
}

func openTail(path string) (*tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &tail{f: f, info: info}, nil
}

// lines returns the new complete lines. An emptied file is read from its beginning.
func (t *tail) lines() (string, error) {
	if st, err := t.f.Stat(); err == nil && st.Size() < t.read {
		if t.read, err = t.f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		t.part = ""
	}
	b, err := io.ReadAll(t.f)
	if err != nil {
		return "", err
	}
	t.read += int64(len(b))
	text := t.part + string(b)
	cut := strings.LastIndexByte(text, '\n') + 1
	t.part = text[cut:]
	return text[:cut], nil
}

// is reports whether the path leads to the file now.
func (t *tail) is(path string) bool {
	st, err := os.Stat(path)
	return err == nil && os.SameFile(st, t.info)
}

// name returns the path of the nth old file of the log; 0 is the log itself.
func (f *follower) name(n int) string {
	if n == 0 {
		return f.path
	}
	return logfile.Old(f.path, n)
}

func (f *follower) close() {
	for _, t := range []*tail{f.now, f.last} {
		if t != nil {
			_ = t.f.Close()
		}
	}
}

// begin prints the last lines, from old files too.
func (f *follower) begin(n int) error {
	var err error
	if f.now, err = openTail(f.path); err != nil {
		return err
	}
	all, err := f.now.lines()
	if err != nil {
		return err
	}
	known := []fs.FileInfo{f.now.info} // a rotation meanwhile renames the file
	for old := 1; old <= logfile.Kept && strings.Count(all, "\n") < n; old++ {
		t, err := openTail(f.name(old))
		if err != nil {
			break // no older file
		}
		text, err := t.lines()
		_ = t.f.Close()
		switch {
		case err != nil:
			return err
		case !sameAsAny(t.info, known):
			all, known = text+all, append(known, t.info)
		}
	}
	return f.c.Print(term.Safe(lastLines(all, n)))
}

func sameAsAny(file fs.FileInfo, known []fs.FileInfo) bool {
	for _, k := range known {
		if os.SameFile(file, k) {
			return true
		}
	}
	return false
}

// lastLines returns the last n lines of a text whose lines all have an end.
func lastLines(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}

// follow prints new lines until ctx ends.
func (f *follower) follow(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		// The newer file is looked for before the old one is read to the end, so no line is lost.
		next, err := f.next()
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		for _, t := range []*tail{f.last, f.now} {
			if err := f.show(t); err != nil {
				return err
			}
		}
		if next != nil {
			if err := f.leave(f.last); err != nil {
				return err
			}
			f.last, f.now = f.now, next
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// show prints the new lines of a file.
func (f *follower) show(t *tail) error {
	if t == nil {
		return nil
	}
	text, err := t.lines()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return f.c.Print(term.Safe(text))
}

// leave closes a file without writers. A partial line at the end is printed as a line.
func (f *follower) leave(t *tail) error {
	if t == nil {
		return nil
	}
	_ = t.f.Close()
	if t.part == "" {
		return nil
	}
	return f.c.Print(term.Safe(t.part) + "\n")
}

// next opens the next newer file of the log, nil if the present file is the newest. During
// a rotation next returns nil too, and the next call finds the file.
func (f *follower) next() (*tail, error) {
	n := 0
	if f.now != nil {
		if n = f.after(); n < 0 {
			return nil, nil
		}
	}
	next, err := openTail(f.name(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && f.now != nil && f.after() != n {
		_ = next.f.Close()
		return nil, nil
	}
	return next, err
}

// after returns the number of the next newer file, -1 without one. If the present file was
// removed, after returns the oldest file with later writes.
func (f *follower) after() int {
	for n := range logfile.Kept + 1 {
		if f.now.is(f.name(n)) {
			return n - 1
		}
	}
	have, err := f.now.f.Stat()
	if err != nil {
		return -1
	}
	for n := logfile.Kept; n > 0; n-- {
		if st, err := os.Stat(f.name(n)); err == nil && st.ModTime().After(have.ModTime()) {
			return n
		}
	}
	return 0
}
