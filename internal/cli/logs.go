package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// A logs shows the gateway's log from the systemd journal or from the file.
type logs struct {
	Follow bool `short:"f" help:"Follow the log until Ctrl-C."`
	Lines  int  `name:"count" aliases:"lines" short:"n" default:"100" help:"How many of the last lines to show first."`
	JSON   bool `name:"json" help:"Print each line as a JSON object."`
}

// Validate checks the number.
func (l *logs) Validate() error {
	if l.Lines < 0 {
		return command.Usagef("-n must not be negative")
	}
	return nil
}

// Run runs the command. It also works with wrong settings, of which the log may tell.
func (l *logs) Run(c *command.Context) error {
	cfg, wrong := c.LenientConfig()
	if cfg.StateDir() == "" {
		return wrong[0]
	}
	tellWrong(c, wrong)
	h, _, err := statemark.Gateway(cfg.StateDir())                                // the running or the last one
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) { // the file is empty while the first gateway starts
		return err
	}
	kept := h.Log
	if kept == (lockfile.LogLocation{}) && (cfg.Logs.File == config.LogFileAuto || cfg.Logs.File == "") { // no gateway yet, or a wrong setting
		kept.Path = filepath.Join(cfg.StateDir(), logfile.Name)
	}
	switch {
	case kept.Unit != "":
		return l.journal(c, kept.Unit)
	case kept.Path != "":
		return l.file(c, kept.Path)
	}
	return errors.New("BARECLAW_LOG_FILE is off, so the gateway logs only to its standard error")
}

func (l *logs) journal(c *command.Context, unit string) error {
	args := []string{"--no-pager", "--quiet", "--output=cat", unit, "--lines=" + strconv.Itoa(l.Lines)}
	if l.Follow {
		args = append(args, "--follow")
	}
	if err := l.relay(c, c.Err, "journalctl", args...); err != nil {
		return fmt.Errorf("ask the journal: %w", err)
	}
	return nil
}

func (l *logs) file(c *command.Context, path string) error {
	text, found, size := "", false, 0 // size of the complete lines in the file read last
	for n := logfile.Kept; n >= 0; n-- {
		b, err := os.ReadFile(logfile.Path(path, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the log: %w", err)
		}
		found = found || err == nil
		complete := string(b[:bytes.LastIndexByte(b, '\n')+1])
		text, size = lastLines(text+complete, l.Lines), len(complete)
	}
	if !found && !l.Follow {
		return fmt.Errorf("there is no log yet: %s", path)
	}
	if err := c.Print(l.shown(text)); err != nil || !l.Follow {
		return err
	}
	// Standard error is discarded: tail reports there that the file is missing or was rotated.
	if err := l.relay(c, nil, "tail", "-c", fmt.Sprintf("+%d", size+1), "-F", path); err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	return nil
}

// shown returns whole lines of the log as they are printed, safe for a terminal.
func (l *logs) shown(text string) string {
	if !l.JSON {
		return term.Safe(text)
	}
	var objects []byte
	for line := range strings.Lines(text) {
		objects = append(appendObject(objects, strings.TrimSuffix(line, "\n")), '\n')
	}
	return string(term.SafeJSON(objects))
}

func lastLines(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}

// errNoReader ends a program whose output nobody reads any more.
var errNoReader = errors.New("nobody reads the output any more")

// relay prints the lines that a program prints, made safe for a terminal, until the program or c
// ends. Without a reader of the output relay ends the program and returns nil.
func (l *logs) relay(c *command.Context, stderr io.Writer, name string, args ...string) error {
	ctx, cancel := context.WithCancelCause(c.Context)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the program only through c
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	go endWithoutReader(ctx, cancel, c.Out)
	if err := l.copyLines(c, out); err != nil {
		cancel(err)
	}
	err = cmd.Wait()
	switch ended := context.Cause(ctx); {
	case errors.Is(ended, errNoReader):
		return nil
	case ended != nil:
		return ended
	}
	return err
}

// endWithoutReader calls cancel when the reader of a pipe is gone, as after `| head -1`: a
// write would find out only with the next line.
func endWithoutReader(ctx context.Context, cancel context.CancelCauseFunc, out io.Writer) {
	pipe, ok := out.(*os.File)
	if !ok {
		return
	}
	fds := []unix.PollFd{{Fd: int32(pipe.Fd())}}
	for tick := time.Tick(200 * time.Millisecond); ; {
		n, err := unix.Poll(fds, 0) // reports a closed end without being asked
		if err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			cancel(errNoReader)
			return
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// copyLines prints r in whole lines: a character may be split between two reads.
func (l *logs) copyLines(c *command.Context, r io.Reader) error {
	var text []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		text = append(text, chunk[:n]...)
		end := bytes.LastIndexByte(text, '\n') + 1
		if err != nil {
			end = len(text)
		}
		if printErr := c.Print(l.shown(string(text[:end]))); printErr != nil {
			return printErr
		}
		if text = text[end:]; errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
