package observe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
	"bareclaw/observe"
	"bareclaw/observe/discovery"
	"bareclaw/sessionhost/protocol"
)

const (
	// readyTime is how long an observer in the background may take until the app can be opened.
	readyTime = 30 * time.Second
	// readyPause is the time between two looks at its record.
	readyPause = 50 * time.Millisecond
)

// detach starts this command in the background, without the mark of a session, and waits until the app can be opened.
func (r *Run) detach(c *command.Context, p *place) error {
	if err := os.MkdirAll(string(p.records), 0o700); err != nil {
		return fmt.Errorf("make the directory of the observers: %w", err)
	}
	path := filepath.Join(string(p.records), logName(c.Dir))
	log, err := logfile.OpenAppend(path)
	if err != nil {
		return fmt.Errorf("open the log of the observer: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.Self, r.arguments(cmp.Or(r.Channel, p.channel))...)
	cmd.Dir = c.Dir
	cmd.Env = slices.DeleteFunc(slices.Clone(c.Environ), func(v string) bool {
		return strings.HasPrefix(v, protocol.EnvMarkVariable+"=")
	})
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the observer: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the observer, or with this process
	record, err := awaitRecord(c, p.records, cmd.Process.Pid, ended)
	if err != nil {
		return fmt.Errorf("%w; its output is in %s", err, path)
	}
	o, err := r.options(c, p)
	if err != nil {
		return err
	}
	if err := r.tellReady(c, &o, record); err != nil {
		return err
	}
	c.Tellf("It goes on in the background until `bareclaw observe stop`. Its output is in %s", term.SafeLine(path))
	return nil
}

// arguments returns those of the observer in the background.
func (r *Run) arguments(channel string) []string {
	args := []string{"observe", "run", "--notify", string(r.Notify), "--instrument", r.Instrument}
	if r.Target != "" {
		args = append(args, "--target", r.Target)
	}
	if r.Port != 0 {
		args = append(args, "--port", strconv.Itoa(r.Port))
	}
	if channel != "" {
		args = append(args, "--channel", channel)
	}
	if len(r.Command) > 0 {
		args = append(args, "--")
		args = append(args, r.Command...)
	}
	return args
}

// awaitRecord waits until the observer with a process id can be found.
func awaitRecord(c *command.Context, records discovery.Records, pid int, ended <-chan error) (discovery.Record, error) {
	start, err := proc.StartTime(pid)
	if err != nil {
		return discovery.Record{}, fmt.Errorf("the observer has ended: %w", err)
	}
	for late := time.After(readyTime); ; {
		all, _ := records.All() // those that can be read
		i := slices.IndexFunc(all, func(r discovery.Record) bool { return r.PID == pid && r.Start == start })
		if i >= 0 {
			return all[i], nil
		}
		select {
		case err := <-ended:
			return discovery.Record{}, fmt.Errorf("the observer has ended: %w", cmp.Or(err, errEarly))
		case <-late:
			return discovery.Record{}, fmt.Errorf("the app cannot be opened after %s", readyTime)
		default:
		}
		if err := wait.Sleep(c.Context, readyPause); err != nil {
			return discovery.Record{}, err
		}
	}
}

// errEarly is how an observer has ended that gives no error.
var errEarly = errors.New("it was stopped")

// logName returns the name of the file for the output of the observer of a directory.
func logName(dir string) string { return observe.IDOf(dir) + ".log" }
