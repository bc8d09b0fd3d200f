package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// A logs shows the gateway's log from the systemd journal or from the file.
type logs struct {
	Follow bool `short:"f" help:"Go on with what comes, until Ctrl-C."`
	Lines  int  `short:"n" default:"100" help:"How many of the last lines to begin with."`
}

// Validate checks the number.
func (l *logs) Validate() error {
	if l.Lines < 0 {
		return command.Usagef("-n must not be negative")
	}
	return nil
}

// Run runs the command.
func (l *logs) Run(c *command.Context, cfg config.Config) error {
	h, _, err := statemark.Gateway(cfg.StateDir)                                  // the running or the last one
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) { // the file is empty while the first gateway starts
		return err
	}
	kept := h.Log
	if kept == (lockfile.LogLocation{}) && cfg.LogFile == config.LogFileAuto { // no gateway yet
		kept.Path = filepath.Join(cfg.StateDir, logfile.Name)
	}
	if l.Follow {
		defer command.CancelOnBrokenPipe(c)()
	}
	switch {
	case kept.Unit != "":
		err = l.journal(c, kept.Unit)
	case kept.Path != "":
		err = l.file(c, kept.Path)
	default:
		return errors.New("the gateway's log is only where its standard error goes: BARECLAW_LOG_FILE is off")
	}
	if errors.Is(context.Cause(c.Context), command.ErrBrokenPipe) {
		return nil
	}
	return err
}

func (l *logs) journal(c *command.Context, unit string) error {
	args := []string{"--no-pager", "--quiet", "--output=cat", unit, "--lines=" + strconv.Itoa(l.Lines)}
	if l.Follow {
		args = append(args, "--follow")
	}
	cmd := exec.CommandContext(c.Context, "journalctl", args...)
	cmd.Stderr = c.Err
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = errors.Join(copyLines(c, out), cmd.Wait())
	}
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	if err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	return nil
}

func copyLines(c *command.Context, r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if printErr := c.Print(term.Safe(line)); printErr != nil {
			return printErr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *logs) file(c *command.Context, path string) error {
	f := &follower{c: c, path: path}
	defer f.close()
	if err := f.begin(l.Lines); err != nil {
		return err
	}
	if l.Follow {
		return f.follow(c.Context)
	}
	if len(f.files) == 0 {
		return fmt.Errorf("there is no log yet: %s", path)
	}
	return nil
}

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
