package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"

	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// Logs shows the gateway's log from the systemd journal or from the file.
type Logs struct {
	Follow bool `short:"f" help:"Go on with what comes, until Ctrl-C."`
	Lines  int  `short:"n" default:"100" help:"How many of the last lines to begin with."`
}

// Validate checks the number.
func (l *Logs) Validate() error {
	if l.Lines < 0 {
		return command.Usagef("-n must not be negative")
	}
	return nil
}

// Run runs the command.
func (l *Logs) Run(c *command.Context, cfg config.Config) error {
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

func (l *Logs) journal(c *command.Context, unit string) error {
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

func (l *Logs) file(c *command.Context, path string) error {
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
