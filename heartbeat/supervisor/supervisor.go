// Package supervisor is the parent process of the gateway. The supervisor starts the
// gateway as its worker, replaces the worker when the worker asks for that, restarts a
// worker that crashes, and goes back to the earlier program when a new one is unwell. The
// supervisor is the process that a shell, a container or a service manager knows; signals,
// and states for the service manager, pass through it.
//
// The supervisor keeps the files that must outlive a worker: the lock of the state
// directory and the listening sockets. Each worker gets copies.
//
// A restart, by messages over a socket pair between the supervisor and each worker:
//
//	serving worker            supervisor              next worker
//	restart ────────────────► starts it ────────────► (prepares: configuration, sockets)
//	        ◄──────────────── prepared ◄───────────── ready
//	released (owns nothing) ► go ───────────────────► (opens records, serves)
//	        ◄──────────────── succeeded ◄──────────── serving
//	answers held requests through the next worker, and ends
//
// If the next worker fails before go, nothing changes. If it fails later, the supervisor
// starts its own program, the last that is known to work.
package supervisor

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/wait"
)

const (
	// readyTimeout is how long a worker may take until it could serve.
	readyTimeout = 10 * time.Second
	// startTimeout is how long a worker may take until it could serve that takes over from nobody: it
	// may have to wait for half a minute until the worker of a killed supervisor has left.
	startTimeout = 45 * time.Second
	// serveTimeout is how long a worker that takes over, or is on trial, may take then until it serves.
	serveTimeout = 30 * time.Second
	// minPause and maxPause bound the pause before a crashed worker is started again.
	minPause, maxPause = time.Second, time.Minute
	// waitPause is the longest pause in which clients wait; in longer ones they are refused.
	waitPause = 2 * time.Second
	// steadyTime is how long a worker serves until earlier crashes are forgotten.
	steadyTime = 5 * time.Minute
	// abortGrace is how long a worker may take to print its stacks when a service manager's
	// watchdog ends the gateway.
	abortGrace = 5 * time.Second
)

// CrashVariable has the supervisor end with a worker that crashes. Tests set it.
const CrashVariable = "BARECLAW_TEST_CRASHES"

// placeFile is the name of the file that keeps others from replacing a program on trial.
const placeFile = "place"

// passedPrefix begins the names of the sockets that a service manager has passed.
const passedPrefix = "passed-"

// Options say what a supervisor works with.
type Options struct {
	StateDir string     // of the record of upgrades
	Environ  []string   // of the program by which the supervisor replaces its own
	Passed   []*os.File // sockets from a service manager, for all workers
	Log      *slog.Logger

	WorkerEnviron []string
	BeforeStart   func() // called before each start of a worker
}

// A supervisor is a state machine: one goroutine takes events, signals and times.
type supervisor struct {
	Options
	self    string      // path of this program
	ran     os.FileInfo // of the file that this process runs
	signals chan os.Signal
	events  chan event
	files   map[string]*os.File // that workers have deposited, by name

	current *worker // serves, or begins to; nil in a pause
	next    *worker // prepares to take over
	old     *worker // has released everything

	trial  *trial
	served bool // some worker has
	reload bool // a SIGHUP came that no worker could take

	pause   <-chan time.Time // ends a pause after a crash
	refusal *refusal         // of clients in a pause; nil while they wait
	crashes wait.Backoff
	since   time.Time // when the current worker began to serve; zero if none has since the last pause

	endSignal os.Signal // why the supervisor is ending: SIGINT to end the sessions too, SIGTERM for all else; nil while it runs
	status    int       // exit status, valid when done
	done      bool
}

// Run supervises the gateway until the gateway ends, and returns the exit status. In a
// supervisor that has replaced itself, Run goes on with its worker.
func Run(o Options) (status int) {
	runtime.LockOSThread() // the system takes the end of a worker's parent thread for that of the parent
	s := &supervisor{
		Options: o,
		signals: make(chan os.Signal, 16),
		events:  make(chan event, 64),
		files:   map[string]*os.File{},
		crashes: wait.Backoff{First: minPause, Most: maxPause, Steady: steadyTime},
	}
	signal.Notify(s.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	if err := s.begin(); err != nil {
		o.Log.Error("the gateway cannot be started", "err", err)
		return exitcode.Failed
	}
	beat, stop := watchdogTicks()
	defer stop()
	for !s.done {
		select {
		case e := <-s.events:
			s.take(e)
		case sig := <-s.signals:
			s.onSignal(sig)
		case <-s.pause:
			s.resume()
			s.start(s.known())
		case <-beat:
			if s.current == nil || s.current.phase != serving { // a worker tells by itself when it serves
				s.notify(sd.SdNotifyWatchdog)
			}
		}
		if s.idle() {
			s.renew()
		}
	}
	return s.status
}

// begin finds this program, takes over what this process kept through an exec, and starts
// the first worker if there is none.
func (s *supervisor) begin() (err error) {
	if s.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	s.ran, _ = os.Stat(s.known()) // unknown: renew does nothing
	for n, f := range s.Passed {
		s.files[fmt.Sprintf("%s%d-%s", passedPrefix, n, f.Name())] = f
	}
	kept, err := s.restore()
	if err != nil || kept {
		return err
	}
	s.startFirst()
	return nil
}

// startFirst starts the first worker: of this program, unless an upgrade to it has failed too often.
func (s *supervisor) startFirst() {
	t, verdict, err := program.Begin(s.StateDir, s.self)
	if err != nil {
		s.Log.Error("the record of the last upgrade is not used", "err", err)
	}
	path := s.known()
	if verdict == program.GoneBack {
		s.Log.Error("going back to the program before", "from", t.To.Version, "to", t.From.Version, "err", t.Reason)
		path = t.Program.Path()
	}
	s.start(path)
	if s.current != nil {
		s.current.trial = verdict == program.Go
	}
}

// known returns a path of the program that this process runs: the last that is known to
// work.
func (s *supervisor) known() string { return program.Running(s.self) }

// start starts a worker that takes over from nobody.
func (s *supervisor) start(path string) {
	w, err := s.spawn(path, s.events)
	if err != nil {
		s.Log.Error("the gateway cannot be started", "err", err)
		s.crashed()
		return
	}
	s.current, w.endSignal = w, s.endSignal
	w.bound(startTimeout)
	w.tell(message{Kind: msgStart, First: !s.served, Heir: s.old != nil, files: s.files})
}

func (s *supervisor) take(e event) {
	w := e.worker
	if e.ended != nil {
		w.unbound()
		s.onEnd(w, e.ended)
		return
	}
	switch e.Kind {
	case msgReady:
		s.onReady(w)
	case msgKeep:
		for name, f := range e.files {
			if earlier := s.files[name]; earlier != nil {
				_ = earlier.Close()
			}
			s.files[name] = f
		}
		return
	case msgServing:
		s.onServing(w, e.message)
	case msgRestart:
		s.onRestart(w, e.message)
		return
	case msgReleased:
		s.onReleased(w)
	case msgStopping:
		w.told = true
		if w.failed == nil { // else the worker may hang while it ends
			w.unbound()
		}
		s.drop()
	case msgFailed:
		w.failed, w.failedForNow = errors.New(e.Error), e.ForNow
	case msgNotify:
		s.notify(e.State)
	case msgHealth:
		s.onHealth(w, e.Error)
	}
	closeAll(e.files) // none are expected
}

// onRestart starts the next worker, which first only prepares.
func (s *supervisor) onRestart(w *worker, m message) {
	var next *worker
	err := errors.New("another restart is under way")
	if w == s.current && !w.told && s.next == nil && s.endSignal == nil {
		next, err = s.spawn(m.Path, s.events)
	}
	if err != nil {
		closeAll(m.files)
		w.tell(message{Kind: msgRefused, Error: err.Error()})
		return
	}
	if m.Trial {
		if _, err := program.CountStart(s.StateDir); err != nil {
			s.Log.Error("the start of the new program is not counted", "err", err)
		}
	}
	next.heir, next.trial, next.place = true, m.Trial, m.files[placeFile]
	next.bound(readyTimeout)
	next.tell(message{Kind: msgStart, Heir: true, files: s.files})
	s.next = next
}

func (s *supervisor) onReady(w *worker) {
	w.unbound()
	w.phase = ready
	switch w {
	case s.current:
		w.phase = starting
		if w.trial {
			w.bound(serveTimeout)
		}
		w.tell(message{Kind: msgGo})
	case s.next:
		if s.current != nil { // else drop has killed next, whose end follows as an event
			s.current.tell(message{Kind: msgPrepared})
		}
	}
}

func (s *supervisor) onReleased(w *worker) {
	if w != s.current {
		return
	}
	w.phase = released
	s.old, s.current, s.next = w, s.next, nil
	if s.current == nil { // the next worker ended when this one had begun to hand over
		s.Log.Error("the new process failed; the program before goes on", "err", "it ended before it took over")
		s.start(s.known())
		return
	}
	s.current.phase = starting
	s.current.bound(serveTimeout)
	s.current.tell(message{Kind: msgGo})
}

func (s *supervisor) onServing(w *worker, m message) {
	if w != s.current {
		return
	}
	w.unbound()
	w.phase, w.trial = serving, m.Trial
	s.served, s.since = true, time.Now()
	s.notify(sd.SdNotifyReady)
	if s.old != nil {
		s.old.tell(message{Kind: msgSucceeded, Path: m.Path})
	}
	if w.trial {
		s.beginTrial(w)
	} else {
		w.release()
	}
	if w.endSignal != nil {
		w.signal(w.endSignal)
	}
	if s.reload {
		s.reload = false
		w.signal(syscall.SIGHUP)
	}
}

func (s *supervisor) onEnd(w *worker, state *os.ProcessState) {
	switch w {
	case s.old: // others decide the status
		s.old = nil
		s.finish(s.status)
	case s.next:
		s.next = nil
		w.release()
		if s.current != nil {
			s.current.tell(message{Kind: msgRefused, Error: fmt.Sprintf("new process of %s: %v", w.path, w.reason(state))})
		}
	case s.current:
		s.current = nil
		s.drop()
		s.afterCurrent(w, state)
		w.release() // not before the earlier program is back
	}
}

// afterCurrent decides what follows the end of the worker that served, or was to serve.
func (s *supervisor) afterCurrent(w *worker, state *os.ProcessState) {
	switch {
	case w.trial && s.endSignal == nil && s.isCondemned(w):
		s.start(s.goBack(w.reason(state)))
	case w.heir && w.phase == starting && !w.told:
		s.Log.Error("the new process failed; the program before goes on", "err", w.reason(state))
		s.start(s.known())
	case s.endSignal == syscall.SIGINT && !w.told && w.phase == serving: // the worker has not seen the signal
		s.start(s.known())
	case w.told || s.endSignal != nil:
		s.endSignal = syscall.SIGTERM
		s.finish(w.exitStatus(state))
	case !s.served && !w.failedForNow:
		if w.failed == nil { // else the worker has said it
			s.Log.Error("the gateway cannot be started", "err", w.reason(state))
		}
		s.giveUp(w.exitStatus(state))
	default:
		s.Log.Error("the gateway has crashed", "pid", w.process.Pid, "ended", state.String(), "err", w.reason(state))
		if os.Getenv(CrashVariable) != "" {
			s.giveUp(w.exitStatus(state))
			return
		}
		s.beginPause()
	}
}

// giveUp ends the supervisor, with a status, once the worker that holds requests has ended.
func (s *supervisor) giveUp(status int) {
	s.endSignal = syscall.SIGTERM
	if s.old != nil {
		s.old.signal(syscall.SIGTERM)
	}
	s.finish(status)
}

// crashed follows a worker that could not be started at all.
func (s *supervisor) crashed() {
	if !s.served {
		s.endSignal = syscall.SIGTERM
		s.finish(exitcode.Failed)
		return
	}
	s.beginPause()
}

// beginPause begins the pause before another worker is started.
func (s *supervisor) beginPause() {
	served := time.Duration(0)
	if !s.since.IsZero() {
		served = time.Since(s.since)
	}
	s.since = time.Time{}
	pause := s.crashes.NextAfter(served)
	s.Log.Info("the gateway is started again", "in", pause)
	s.pause = time.After(pause)
	if pause > waitPause {
		s.refusal = refuse(s.files, pause)
	}
}

// resume ends the pause.
func (s *supervisor) resume() {
	s.pause = nil
	s.refusal.end()
	s.refusal = nil
}

func (s *supervisor) onSignal(sig os.Signal) {
	if sig == syscall.SIGHUP {
		if s.current != nil && s.current.phase == serving && s.next == nil {
			s.current.signal(sig)
		} else {
			s.reload = true
		}
		return
	}
	paused := s.pause != nil
	s.resume()
	if s.endSignal = sig; sig != syscall.SIGINT {
		s.endSignal = syscall.SIGTERM
	}
	s.drop()
	for _, w := range []*worker{s.current, s.old} {
		if w != nil {
			w.end(sig)
		}
	}
	if paused && sig == syscall.SIGINT { // only a worker can end the sessions
		s.start(s.known())
	}
	s.finish(exitcode.OK)
}

// drop ends the next worker, which owns nothing.
func (s *supervisor) drop() {
	if s.next != nil {
		_ = s.next.process.Kill() // it may have ended
	}
}

// finish ends the supervisor with a status when the gateway is told to end and no worker
// is left.
func (s *supervisor) finish(status int) {
	s.status = status
	s.done = s.endSignal != nil && s.current == nil && s.old == nil
}

func (s *supervisor) idle() bool {
	return s.current != nil && s.current.phase == serving && !s.current.told && s.next == nil && s.old == nil && s.trial == nil && s.endSignal == nil
}

// notify tells the service manager a state. Where there is none, notify does nothing.
func (s *supervisor) notify(state string) { _, _ = sd.SdNotify(false, state) }

// watchdogTicks returns the times at which the supervisor notifies the service manager's
// watchdog while no worker serves. A serving worker notifies by itself: a hang must show.
func watchdogTicks() (ticks <-chan time.Time, stop func()) {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(interval / 3)
	return t.C, t.Stop
}
