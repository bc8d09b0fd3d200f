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
func (l *Logs) Run(c *command.Context) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	kept, err := keptLog(cfg)
	if err != nil {
		return err
	}
	if !l.Follow {
		return l.show(c, kept)
	}
	end := command.CancelOnBrokenPipe(c)
	defer end()
	if err = l.show(c, kept); errors.Is(context.Cause(c.Context), command.ErrBrokenPipe) {
		return nil
	}
	return err
}

// show shows the log from its place.
func (l *Logs) show(c *command.Context, kept lockfile.LogLocation) error {
	switch {
	case kept.Unit != "":
		return l.journal(c, kept.Unit)
	case kept.Path != "":
		return l.file(c, kept.Path)
	}
	return errors.New("the gateway's log is only where its standard error goes: BARECLAW_LOG_FILE is off")
}

// keptLog returns the place of the log of the running or last gateway.
func keptLog(cfg config.Config) (lockfile.LogLocation, error) {
	h, _, err := statemark.Gateway(cfg.StateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) { // the file is empty while the first gateway starts
		return lockfile.LogLocation{}, err
	}
	kept := h.Log
	if kept == (lockfile.LogLocation{}) && cfg.LogFile == config.LogFileAuto { // an older gateway, or none yet
		kept.Path = filepath.Join(cfg.StateDir, logfile.Name)
	}
	return kept, nil
}

// journal shows the journal of a unit.
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
	if err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	copyErr := copyLines(c, out)
	err = cmd.Wait()
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	if err = errors.Join(copyErr, err); err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	return nil
}

// lines prints lines until the end of r.
func copyLines(c *command.Context, r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			if err := c.Print(term.Safe(line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
	}
}

// file shows a log file.
func (l *Logs) file(c *command.Context, path string) error {
	fl := &follower{c: c, path: path}
	defer fl.close()
	err := fl.begin(l.Lines)
	if errors.Is(err, fs.ErrNotExist) && !l.Follow {
		return fmt.Errorf("there is no log yet: %w", err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the log: %w", err)
	}
	if !l.Follow {
		return nil
	}
	return fl.follow(c.Context)
}
