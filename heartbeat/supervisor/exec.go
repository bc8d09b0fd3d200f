package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StateVariable holds the keptState of a supervisor that has replaced its own program.
const StateVariable = "BARECLAW_SUPERVISOR"

// A keptState is what a supervisor keeps when it replaces itself: descriptors, and the
// worker, which stays a child of the process.
type keptState struct {
	Worker  int            `json:"worker"` // process id
	Path    string         `json:"path"`   // of the worker's program
	Control int            `json:"control"`
	Files   map[string]int `json:"files"`
	Signals int            `json:"signals"` // a pipe with the numbers of signals that came too late; 0 for none

	StateDir string `json:"state_dir"` // see Options
}

// renewRetry is the time to the next attempt to replace this program while a message arrives.
const renewRetry = 50 * time.Millisecond

// renew replaces this program by the worker's, if that is another one, in this process:
// descriptors, children and the process id stay. After an error this program goes on.
func (s *supervisor) renew() {
	w := s.current
	if s.ran == nil || w.file == nil || os.SameFile(s.ran, w.file) {
		return
	}
	if now, err := os.Stat(w.path); err != nil || !os.SameFile(now, w.file) {
		return // somebody has put another program there since, which nobody has tried
	}
	if !w.reading.TryLock() { // a message, or the end of the worker, is on its way to events, or just arrived
		time.AfterFunc(renewRetry, func() { s.events <- event{} }) // an event without content tries again
		return
	}
	defer w.reading.Unlock()
	holdReload()
	defer letReload()
	if len(s.signals) > 0 || len(s.events) > 0 { // the next program would not know of them
		return
	}
	w.file = nil // once is enough
	err := s.exec(w)
	signal.Notify(s.signals, syscall.SIGHUP) // where holdReload had it ignored
	s.Log.Error("the supervisor cannot replace its own program", "path", w.path, "err", err)
}

// exec replaces this program. exec only returns with an error.
func (s *supervisor) exec(w *worker) error {
	kept := keptState{Worker: w.process.Pid, Path: w.path, Files: map[string]int{}, StateDir: s.StateDir}
	syscall.ForkLock.Lock() // no child may inherit the descriptors
	defer syscall.ForkLock.Unlock()
	var all []int
	control, err := w.link.conn.File() // a copy
	if err != nil {
		return fmt.Errorf("keep the control socket: %w", err)
	}
	defer func() { _ = control.Close() }()
	kept.Control = descriptor(control)
	late, stop, err := s.catchSignals()
	if err != nil {
		return err
	}
	defer stop()
	kept.Signals = descriptor(late)
	all = append(all, kept.Control, kept.Signals)
	for name, f := range s.files {
		kept.Files[name] = descriptor(f)
		all = append(all, kept.Files[name])
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keep the state: %w", err)
	}
	setCloseOnExec(all, 0)
	defer setCloseOnExec(all, unix.FD_CLOEXEC)
	err = syscall.Exec(w.path, []string{w.path, "serve"}, append(slices.Clip(s.Environ), StateVariable+"="+string(b)))
	return fmt.Errorf("start %s: %w", w.path, err)
}

// catchSignals writes the signals that come from now on to a pipe, for the next program, until stop is
// called: then they are this program's again.
func (s *supervisor) catchSignals() (late *os.File, stop func(), err error) {
	late, to, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("keep late signals: %w", err)
	}
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends by stop, or with this program
		defer close(stopped)
		for {
			select {
			case sig := <-s.signals:
				_, _ = to.Write([]byte{byte(sig.(syscall.Signal))}) // there is room
			case <-stopping:
				return
			}
		}
	}()
	return late, func() {
		close(stopping)
		<-stopped
		_ = to.Close()
		s.replay(late)
	}, nil
}

// replay takes signals out of a pipe whose other end is closed.
func (s *supervisor) replay(late *os.File) {
	defer func() { _ = late.Close() }()
	numbers, _ := io.ReadAll(io.LimitReader(late, int64(cap(s.signals)))) // what cannot be read is lost
	for _, n := range numbers {
		select {
		case s.signals <- syscall.Signal(n):
		default: // others have come since
		}
	}
}

func setCloseOnExec(fds []int, flag int) {
	for _, fd := range fds {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag) // fails for no open descriptor
	}
}

// IsRenewed reports whether this process is a supervisor that has replaced itself.
func IsRenewed() bool { return os.Getenv(StateVariable) != "" }

// restore takes over what an earlier program of this process has kept; ok is false if
// there was none.
func (s *supervisor) restore() (ok bool, err error) {
	text := os.Getenv(StateVariable)
	if text == "" {
		return false, nil
	}
	var kept keptState
	err = json.Unmarshal([]byte(text), &kept)
	if err == nil {
		err = os.Unsetenv(StateVariable)
	}
	if err != nil {
		return false, fmt.Errorf("take over from the earlier program: %w", err)
	}
	s.StateDir = kept.StateDir
	for name, fd := range kept.Files {
		unix.CloseOnExec(fd)
		s.files[name] = os.NewFile(uintptr(fd), name)
	}
	unix.CloseOnExec(kept.Control)
	l, err := newLink(os.NewFile(uintptr(kept.Control), "control"))
	if err != nil {
		return false, err
	}
	if kept.Signals > 0 {
		unix.CloseOnExec(kept.Signals)
		s.replay(os.NewFile(uintptr(kept.Signals), "signals"))
	}
	process, err := os.FindProcess(kept.Worker)
	if err != nil {
		return false, fmt.Errorf("find the worker: %w", err)
	}
	s.current = &worker{process: process, path: kept.Path, link: l, phase: serving}
	s.served, s.since = true, time.Now()
	go s.current.relay(s.events) // ends with the process
	return true, nil
}
