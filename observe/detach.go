package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/visible"
	"bareclaw/internal/wait"
	"bareclaw/observe/discovery"
)

const (
	// readyTime is how long an observer in the background may take until the app can be opened.
	readyTime = 30 * time.Second
	// readyPause is the time between two looks at its record.
	readyPause = 50 * time.Millisecond
	// answerTime is how long the app may take to answer until nobody waits for it any more.
	answerTime = 10 * time.Second
	// shownLines is how many lines of output are shown of an observer that has ended.
	shownLines = 5
	// maxLog is the size in bytes of a full log, which becomes an old log.
	maxLog = 1 << 20
)

// A Detachment describes an observer that runs in the background. All fields are required.
type Detachment struct {
	Self      string   // path of this program
	Arguments []string // behind `bareclaw observe run`
	Dir       string   // of the app, absolute
	Environ   []string // without the mark of a session, with which the observer would end
	Records   discovery.Records
}

// Log returns the path of the file with the output of the observer, which is made by Start.
func (d *Detachment) Log() string { return d.Records.LogPath(IDOf(d.Dir)) }

// DetachedLog returns the log of the observer of a directory if this process is that observer, started by a [Detachment]; nil:
// it is not. The log is bounded, and takes the process's stderr too.
func DetachedLog(records discovery.Records, dir string) (*logfile.File, error) {
	path := records.LogPath(IDOf(dir))
	if !logfile.IsLog(os.Stderr, path) {
		return nil, nil //nolint:nilnil // in the foreground there is none
	}
	log, err := logfile.Open(path, maxLog)
	if err != nil {
		return nil, err
	}
	log.Adopt(os.Stderr)
	return log, nil
}

// Start starts the observer in a session of its own, so that it outlives this process and its terminal, and returns
// its record. It blocks until the app answers, for ten seconds, or until it can be opened, for half a minute at most;
// after an error no observer is left.
func (d *Detachment) Start(ctx context.Context) (discovery.Record, error) {
	if err := os.MkdirAll(string(d.Records), 0o700); err != nil {
		return discovery.Record{}, fmt.Errorf("make the directory of the observers: %w", err)
	}
	log, err := logfile.OpenAppend(d.Log())
	if err != nil {
		return discovery.Record{}, fmt.Errorf("open the log of the observer: %w", err)
	}
	defer func() { _ = log.Close() }()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return discovery.Record{}, fmt.Errorf("open the log of the observer: %w", err)
	}
	cmd := exec.Command(d.Self, append([]string{"observe", "run"}, d.Arguments...)...)
	cmd.Dir = d.Dir
	cmd.Env = append(slices.Clone(d.Environ), "PWD="+d.Dir)
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return discovery.Record{}, fmt.Errorf("start the observer: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the observer, or with this process
	record, err := d.await(ctx, cmd.Process.Pid, ended)
	if err != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		return discovery.Record{}, fmt.Errorf("%w; its output is in %s%s", err, d.Log(), d.lastWords(before))
	}
	return record, nil
}

// lastWords returns the last lines of the output from a position on, as the end of an error.
func (d *Detachment) lastWords(from int64) string {
	lines := strings.Split(logfile.Since(d.Log(), from), "\n")
	shown := ""
	for _, line := range lines[max(0, len(lines)-shownLines):] {
		if line = visible.Words(line); line != "" {
			shown += "\n  " + line
		}
	}
	if shown == "" {
		return ""
	}
	return ":" + shown
}

// await waits until the observer with a process id can be found and its app answers, if that does not take too long.
func (d *Detachment) await(ctx context.Context, pid int, ended <-chan error) (discovery.Record, error) {
	start, err := proc.StartTime(pid)
	if err != nil {
		return discovery.Record{}, fmt.Errorf("the observer has ended: %w", err)
	}
	slow := time.Now().Add(answerTime)
	for late := time.After(readyTime); ; {
		all, _ := d.Records.All() // those that can be read
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
		if err := wait.Sleep(ctx, readyPause); err != nil {
			return discovery.Record{}, err
		}
	}
}

// errEarly is how an observer has ended that gives no error.
var errEarly = errors.New("it was stopped")
