package observe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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
	// answerTime is how long the app may take to answer until that is told.
	answerTime = 10 * time.Second
)

// detach starts this command in the background, without the mark of a session, and waits until the app can be opened.
func (r *Run) detach(c *command.Context, p *place) error {
	if err := os.MkdirAll(string(p.records), 0o700); err != nil {
		return fmt.Errorf("make the directory of the observers: %w", err)
	}
	path := filepath.Join(string(p.records), logName(p.dir))
	log, err := logfile.OpenAppend(path)
	if err != nil {
		return fmt.Errorf("open the log of the observer: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.Self, r.arguments(cmp.Or(r.Channel, p.channel))...)
	cmd.Dir = p.dir
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
		return fmt.Errorf("%w; its output is in %s%s", err, path, lastLines(path))
	}
	o, err := r.options(c, p)
	if err != nil {
		return err
	}
	if record.App == "" {
		c.Tellf("The app does not answer yet.")
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

// shownLines is how many lines of output are shown of an observer that has ended.
const shownLines = 5

// lastLines returns the end of a log for people, after a colon; empty: there is nothing.
func lastLines(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const much = 4 << 10
	if info, err := f.Stat(); err == nil && info.Size() > much {
		_, _ = f.Seek(-much, io.SeekEnd)
	}
	text, _ := io.ReadAll(f) // what could be read counts
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	shown := ""
	for _, line := range lines[max(0, len(lines)-shownLines):] {
		if line = term.SafeLine(line); line != "" {
			shown += "\n  " + line
		}
	}
	if shown == "" {
		return ""
	}
	return ":" + shown
}

// awaitRecord waits until the observer with a process id can be found and its app answers, if that does not take too long.
func awaitRecord(c *command.Context, records discovery.Records, pid int, ended <-chan error) (discovery.Record, error) {
	start, err := proc.StartTime(pid)
	if err != nil {
		return discovery.Record{}, fmt.Errorf("the observer has ended: %w", err)
	}
	slow := time.Now().Add(answerTime)
	for late := time.After(readyTime); ; {
		all, _ := records.All() // those that can be read
		i := slices.IndexFunc(all, func(r discovery.Record) bool { return r.PID == pid && r.Start == start })
		if i >= 0 && (all[i].App != "" || time.Now().After(slow)) {
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
