package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/logfile"
	"bareclaw/internal/term"
)

// followEvery is the time between two looks at a followed log.
const followEvery = 200 * time.Millisecond

// A follower prints each line of a log once, whichever process writes the line, also across
// rotations.
type follower struct {
	c     *command.Context
	path  string
	files []*tail // all known files of the log, oldest first
}

// A tail is the unread end of a file. The file stays open even if it is removed: until then
// no new file can have its identity.
type tail struct {
	*os.File
	info fs.FileInfo // identifies the file
	part string      // an unfinished line
}

// lines returns the new complete lines. An emptied file is read from its beginning.
func (t *tail) lines() (string, error) {
	at, err := t.Seek(0, io.SeekCurrent)
	if st, statErr := t.Stat(); err == nil && statErr == nil && st.Size() < at {
		_, err = t.Seek(0, io.SeekStart)
		t.part = ""
	}
	b, readErr := io.ReadAll(t)
	if err := errors.Join(err, readErr); err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	text := t.part + string(b)
	cut := strings.LastIndexByte(text, '\n') + 1
	t.part = text[cut:]
	return text[:cut], nil
}

func (f *follower) close() {
	for _, t := range f.files {
		_ = t.Close()
	}
}

// open opens the files of the log that are not known yet, which are newer than the known
// files.
func (f *follower) open() error {
	for n := logfile.Kept; n >= 0; n-- {
		path := f.path
		if n > 0 {
			path = logfile.Old(f.path, n)
		}
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		info, err := file.Stat()
		if err != nil || slices.ContainsFunc(f.files, func(t *tail) bool { return os.SameFile(t.info, info) }) {
			_ = file.Close()
			continue
		}
		f.files = append(f.files, &tail{File: file, info: info})
	}
	return nil
}

// begin prints the last lines, from old files too.
func (f *follower) begin(n int) error {
	if err := f.open(); err != nil {
		return err
	}
	all := ""
	for i, t := range slices.Backward(f.files) {
		text, err := t.lines()
		if err != nil {
			return err
		}
		if i < len(f.files)-1 {
			t.part = ""
		}
		if strings.Count(all, "\n") < n {
			all = text + all
		}
	}
	return f.c.Print(term.Safe(lastLines(all, n)))
}

// lastLines returns the last n lines of a text whose lines all have an end.
func lastLines(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}

// follow prints new lines until ctx ends. New files are looked for before the old files are
// read to the end, so no line is lost.
func (f *follower) follow(ctx context.Context) error {
	for tick := time.Tick(followEvery); ; {
		if err := f.open(); err != nil {
			return err
		}
		for i, t := range f.files {
			text, err := t.lines()
			if err != nil {
				return err
			}
			if i < len(f.files)-2 && t.part != "" { // another process may still write to the last but one
				text, t.part = text+t.part+"\n", ""
			}
			if err := f.c.Print(term.Safe(text)); err != nil {
				return err
			}
		}
		for len(f.files) > logfile.Kept+1 { // the oldest was removed
			_ = f.files[0].Close()
			f.files = f.files[1:]
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
		}
	}
}
