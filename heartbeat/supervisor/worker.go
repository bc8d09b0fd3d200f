package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/wait"
)

// WrapVariable is a command that runs workers. Tests set it.
const WrapVariable = "BARECLAW_TEST_WRAP"

// A phase says how far a worker is.
type phase int

const (
	preparing phase = iota // owns nothing
	ready                  // could serve
	starting               // owns everything, and does not serve yet
	serving
	released // owns nothing any more, and answers the requests that it holds
)

// A worker is a process of the gateway.
type worker struct {
	process      *os.Process
	path         string      // of its program
	file         os.FileInfo // of path when the worker was started; nil if that is not known
	link         *link
	phase        phase
	heir         bool      // it takes over from another one
	endSignal    os.Signal // tells it to end, once it serves; nil for none
	trial        bool      // its program is on trial
	place        *os.File  // keeps others from replacing that program; nil for none
	told         bool      // it ends because it was told to
	failed       error     // why it cannot serve, or why its program cannot stay
	failedForNow bool      // a later worker may serve

	unlimit context.CancelFunc // ends the limit of bound; nil for none
	late    atomic.Bool        // it was killed because it took too long
	reading sync.Mutex         // held by relay from the first byte of a message until the event is sent
}

// An event is a message of a worker, or its end.
type event struct {
	worker *worker
	message
	ended *os.ProcessState // nil for a message
}

// spawn starts a worker in a process group of its own: the supervisor sends a terminal's
// Ctrl-C on, so that the worker gets the signal once.
func (o Options) spawn(path string, events chan<- event) (*worker, error) {
	o.BeforeStart()
	l, theirs, err := newPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	argv := append(strings.Fields(os.Getenv(WrapVariable)), path, Subcommand)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = o.WorkerEnviron
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = attributes()
	file, _ := os.Stat(path) // Start says what is wrong
	letReload()
	if err := cmd.Start(); err != nil {
		_ = l.conn.Close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	w := &worker{process: cmd.Process, path: path, file: file, link: l}
	go w.relay(events) // ends with the process
	return w, nil
}

// relay sends the worker's messages, and then its end, to events.
func (w *worker) relay(events chan<- event) {
	for ended := false; !ended; {
		w.link.await()
		w.reading.Lock()
		e := event{worker: w}
		var err error
		if e.message, err = w.link.read(); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) { // the two do not understand each other
				_ = w.process.Kill()
			}
			e.ended, ended = w.wait(), true
		}
		events <- e
		w.reading.Unlock()
	}
}

func (w *worker) wait() *os.ProcessState {
	_ = w.link.conn.Close()
	state, err := w.process.Wait()
	if err != nil { // somebody else has collected the status
		return new(os.ProcessState)
	}
	return state
}

// tell sends a message. relay sees the end of the worker.
func (w *worker) tell(m message) { _ = w.link.write(m) }

func (w *worker) signal(sig os.Signal) { _ = w.process.Signal(sig) } // the process may have ended

// end has the worker end the gateway; a second call kills it. The worker cannot tell a second signal
// from those that the kernel sends when the threads of a killed supervisor end one after the other. A
// signal might kill a worker that does not serve yet, or be heard late: it gets the signal once it
// serves.
func (w *worker) end(sig os.Signal) {
	switch {
	case sig != syscall.SIGTERM && sig != syscall.SIGINT:
		w.signal(sig)
	case w.endSignal != nil:
		_ = w.process.Kill() // it may have ended
	default:
		w.endSignal = sig
		if w.phase >= serving {
			w.signal(sig)
		}
	}
	if sig == syscall.SIGABRT {
		w.bound(abortGrace)
	}
}

// boundSteps is the number of parts in which bound measures its time.
const boundSteps = 10

// bound kills the worker unless it gets to its next phase, or reports its health, in time. While this
// process stands still no time passes: of a longer stop at most one step is counted, and the
// messages that have come meanwhile are read before the next step is over.
func (w *worker) bound(d time.Duration) {
	w.unbound()
	ctx, unlimit := context.WithCancel(context.Background())
	w.unlimit = unlimit
	go func() { // ends with ctx, or when the worker was killed
		for range boundSteps {
			if wait.Sleep(ctx, d/boundSteps) != nil {
				return
			}
		}
		w.late.Store(true)
		_ = w.process.Kill()
	}()
}

func (w *worker) unbound() {
	if w.unlimit != nil {
		w.unlimit()
	}
}

// release lets others replace the worker's program. More calls do nothing.
func (w *worker) release() {
	if w.place != nil {
		_ = w.place.Close()
		w.place = nil
	}
}

func (w *worker) reason(state *os.ProcessState) error {
	switch {
	case w.failed != nil:
		return w.failed
	case w.late.Load() && w.phase == preparing && w.heir:
		return fmt.Errorf("it was not ready within %s", readyTimeout)
	case w.late.Load() && w.phase == preparing:
		return fmt.Errorf("it was not ready within %s", startTimeout)
	case w.late.Load() && w.phase == serving:
		return fmt.Errorf("it does not answer: no report of its health for %s", maxSilence)
	case w.late.Load():
		return fmt.Errorf("it did not serve within %s", serveTimeout)
	}
	if w.trial && w.phase == serving {
		return fmt.Errorf("the new program ended while it was on trial: %s", state)
	}
	return fmt.Errorf("it ended: %s", state)
}

// exitStatus returns the status for the end of a worker: the worker's own. A worker that ended
// before it could handle the signal to end has ended well; one that was killed while it handled the
// signal has not.
func (w *worker) exitStatus(state *os.ProcessState) int {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case w.phase < serving && w.endSignal != nil:
		return exitcode.OK
	case !ok || !ws.Signaled():
		return max(state.ExitCode(), exitcode.OK)
	case ws.Signal() == syscall.SIGTERM || ws.Signal() == syscall.SIGINT:
		return exitcode.OK
	case ws.Signal() == syscall.SIGKILL && w.endSignal != nil:
		return exitcode.Failed
	}
	return 128 + int(ws.Signal())
}
