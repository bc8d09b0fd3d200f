package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/handover"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"

	"golang.org/x/sys/unix"
)

const (
	// readyTimeout is how long a new process may take until it could take over.
	readyTimeout = 10 * time.Second
	// serveTimeout is how long it may take then until it serves.
	serveTimeout = 30 * time.Second
	// lateGrace is how long an old process goes on answering what comes late on
	// connections that clients keep alive.
	lateGrace = 5 * time.Second
	// lookEvery is how often it looks meanwhile whether a daemon is there.
	lookEvery = 100 * time.Millisecond
)

// The names of the files that are handed over.
const (
	lockFile   = "lock"
	tcpFile    = "tcp"
	unixFile   = "unix"
	tetherFile = "tether"
)

// An attempt is a restart that is being prepared. Whoever asks meanwhile shares
// it.
type attempt struct {
	done    chan struct{}       // closed when it is known whether there is a successor
	err     error               // why there is none
	upgrade *api.UpgradeRequest // nil for a restart
	trial   *program.Trial      // of the program that was put in place; nil for a restart
}

// errOnTrial refuses a restart: the process that would go back is the one before this.
var errOnTrial = errors.New("an upgrade is on trial; try again when that is over, in half a minute")

// requestRestart starts a new process of this program and returns when it could
// take over, which it then does, or why it cannot.
func (d *daemon) requestRestart(ctx context.Context) error {
	if d.onTrial.Load() {
		d.log.Error("not restarted", "err", errOnTrial)
		return errOnTrial
	}
	d.mu.Lock()
	a := d.attempt
	if a == nil {
		a = d.attemptLocked(nil)
	}
	d.mu.Unlock()
	return a.wait(ctx)
}

// requestUpgrade is requestRestart with another program, which is on trial then.
func (d *daemon) requestUpgrade(ctx context.Context, o api.UpgradeRequest) error {
	if source := sourceTree(d.cfg.Source); source != "" {
		return fmt.Errorf("this gateway is built from %s whenever it restarts: change that and restart it, or set BARECLAW_SOURCE=off", source)
	}
	if d.onTrial.Load() {
		return fmt.Errorf("%w: %w", httpapi.ErrUpgrading, errOnTrial)
	}
	d.mu.Lock()
	if d.attempt != nil {
		d.mu.Unlock()
		return fmt.Errorf("%w: a restart is under way", httpapi.ErrUpgrading)
	}
	a := d.attemptLocked(&o)
	d.mu.Unlock()
	return a.wait(ctx)
}

func (d *daemon) attemptLocked(o *api.UpgradeRequest) *attempt {
	a := &attempt{done: make(chan struct{}), upgrade: o}
	d.attempt = a
	go d.try(a) // ends within the time that building and starting may take
	return a
}

func (a *attempt) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *daemon) try(a *attempt) {
	s, err := d.startSuccessor(a)
	if err != nil && a.trial != nil {
		d.goBack(a.trial, err)
	}
	d.mu.Lock()
	if d.ending {
		err = errors.Join(err, core.ErrClosed)
	}
	a.err = err
	if err != nil {
		d.attempt = nil // the next one tries again
		d.problem = "The last restart failed: " + err.Error()
	}
	d.mu.Unlock()
	close(a.done)
	if err != nil {
		d.log.Error("not restarted", "err", err)
		if s != nil {
			s.Kill()
		}
		d.tellUpgrade(d.life)
		return
	}
	d.successors <- s // capacity 1, and there is one attempt at a time
}

// startSuccessor returns a process that could take over.
func (d *daemon) startSuccessor(a *attempt) (*handover.Successor, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if err := d.engine.ledger.Probe(ctx); err != nil { // the new process could not begin, and this one could not go back
		return nil, err
	}
	path := d.self
	var err error
	if a.upgrade != nil {
		a.trial, err = d.placeTrial(ctx, *a.upgrade)
	} else {
		path, err = d.build(ctx)
	}
	if err != nil {
		return nil, err
	}
	files, err := d.inheritance()
	defer func() {
		for _, f := range files {
			_ = f.File.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	s, err := d.beget(path, files)
	if err != nil {
		return nil, err
	}
	ready, cancelReady := context.WithTimeoutCause(context.Background(), readyTimeout, fmt.Errorf("it was not ready within %s", readyTimeout))
	defer cancelReady()
	if err := s.Ready(ready); err != nil {
		return nil, fmt.Errorf("new process of %s: %w", path, err)
	}
	d.log.Info("new process is ready", "pid", s.PID(), "path", path)
	return s, nil
}

// beget starts the process that may take over, unless this one is ending: were it
// started and not yet known, nobody would end it.
func (d *daemon) beget(path string, files []handover.File) (*handover.Successor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return nil, core.ErrClosed
	}
	s, err := handover.Start(handover.Program{Path: path, Args: os.Args[1:], Env: d.environ, Sibling: managed()}, files)
	d.heir = s
	return s, err
}

// disinherit ends a process that was to take over: it would, once this one is
// gone. None is started any more.
func (d *daemon) disinherit() {
	d.mu.Lock()
	d.ending = true
	s := d.heir
	d.mu.Unlock()
	if s != nil {
		s.Kill()
	}
}

// inheritance returns copies of what the successor gets.
func (d *daemon) inheritance() (files []handover.File, err error) {
	add := func(name string, f *os.File, err2 error) {
		if err2 != nil {
			err = errors.Join(err, fmt.Errorf("hand over the %s: %w", name, err2))
			return
		}
		files = append(files, handover.File{Name: name, File: f})
	}
	for name, of := range map[string]any{lockFile: d.lock.File(), tcpFile: d.http.tcp, unixFile: d.http.unix} {
		if passed := d.passed[name]; passed != nil {
			name, of = passedPrefix+name, passed
		}
		f, dupErr := dup(of, name)
		add(name, f, dupErr)
	}
	if managed() || d.mustStay() {
		err = errors.Join(err, d.tether.make())
	}
	if d.tether.end != nil {
		f, dupErr := dup(d.tether.end, tetherFile)
		add(tetherFile, f, dupErr)
	}
	return files, err
}

// dup returns a copy of a descriptor that may be closed meanwhile. (That of a
// listener's own File method would make the socket a blocking one when it is
// passed on, here too.)
func dup(of any, name string) (*os.File, error) {
	c, ok := of.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", of)
	}
	conn, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	err = conn.Control(func(of uintptr) { fd, dupErr = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// handOver leaves everything to the successor and returns when nothing is held
// here any more. When the successor fails now, everything is left as if the
// process ended, and the error says so. With a trial it returns at the end of that at the
// earliest, and what ends it is an error too.
func (d *daemon) handOver(s *handover.Successor, trial *program.Trial, signals <-chan os.Signal) error {
	began := time.Now()
	d.log.Info("handing over", "pid", s.PID())
	d.watchdog.excuse(endGrace + serveTimeout)
	_, _ = sd.SdNotify(false, fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sd.SdNotifyReloading, monotonicMicros()))
	d.http.unix.(*net.UnixListener).SetUnlinkOnClose(false) // it is the successor's
	_ = d.parts.stop(handingOver)
	saved := d.engine.saveFeeds()
	ctx, cancel := context.WithTimeoutCause(context.Background(), serveTimeout, fmt.Errorf("it did not serve within %s", serveTimeout))
	defer cancel()
	err := s.Go()
	var inner string
	if err == nil {
		inner, err = s.Serving(ctx)
	}
	if err != nil {
		d.http.server.Forward("", "")
		d.http.drain(httpapi.Restarting)
		return fmt.Errorf("hand over to process %d: %w", s.PID(), err)
	}
	written := make(chan struct{})
	go func() { // ends with what is to be written; waited for below
		defer close(written)
		saved.write()
	}()
	defer func() { <-written }()
	d.forwardWaiting(signals)
	if trial == nil {
		d.lock.Release() // should the successor have to start anew, nobody else may have it
		d.establish(s)
	} else {
		whole, _ := trialTimes()
		d.watchdog.excuse(whole + trialSlack)
		_, _ = sd.SdNotify(false, sd.SdNotifyReady) // the main process is this one yet
	}
	d.http.server.Forward(inner, d.apiSocket())
	d.log.Info("handed over", "pid", s.PID(), "took", time.Since(began))
	return d.answerHeld(s, trial, signals)
}

// establish makes a successor the process that whoever started the gateway knows of,
// where that can be.
func (d *daemon) establish(s *handover.Successor) {
	d.watchdog.rest()
	d.lock.Release()
	tellMain(s.PID())
	if managed() {
		d.tether.letGo()
	}
}

// tellMain tells a service manager of the new main process, and once more that it
// is ready and alive: it may only listen to the main process, which this one was until
// now.
func tellMain(pid int) {
	state := sd.SdNotifyReady + "\n" + sd.SdNotifyWatchdog
	if managed() {
		state += fmt.Sprintf("\nMAINPID=%d", pid)
	}
	_, _ = sd.SdNotify(false, state)
}

// succeed hands over and then ends, or stays as a keeper. Where the successor fails
// too late, this process starts anew in its own place.
func (d *daemon) succeed(s *handover.Successor, signals <-chan os.Signal) error {
	d.mu.Lock()
	trial := d.attempt.trial
	d.mu.Unlock()
	d.leaving()
	if err := d.handOver(s, trial, signals); err != nil {
		path := d.self
		if trial != nil {
			path = d.goBack(trial, err)
		}
		d.log.Error("the new process failed; starting anew", "err", err)
		return d.goOn(program.Running(path), signals)
	}
	if !d.mustStay() {
		return nil
	}
	d.close()
	if d.over(s) {
		return s.Err()
	}
	return d.becomeKeeper(s.Program(), signals)
}

// over reports whether the successor has ended and nobody has succeeded it.
func (d *daemon) over(s *handover.Successor) bool {
	select {
	case <-s.Ended():
	default:
		return false
	}
	h, err := lockfile.ReadHolder(d.lockPath())
	return err != nil || h.PID == s.PID()
}

// answerHeld returns when every request that is held has been answered by the
// successor, and a trial is over, or a signal asks not to wait. The error is why a trial
// failed. Signals are meant for the gateway: they are sent on unless they come from a
// service manager, which was told of the successor.
func (d *daemon) answerHeld(s *handover.Successor, trial *program.Trial, signals <-chan os.Signal) error {
	answered := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.NewTimer(lateGrace)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var verdict chan error // nil where there is no trial, or its end is known
	if trial != nil {
		verdict = make(chan error, 1)
		go func() { verdict <- d.guard(ctx, s) }() // ends at the latest when this returns
	}
	for held := true; held || verdict != nil; {
		select {
		case <-late.C:
			go func() { answered <- d.http.server.Shutdown(ctx, httpapi.Restarting) }() // ends at the latest when this returns
		case <-look.C:
			if h, err := lockfile.ReadHolder(d.lockPath()); held && (err != nil || !proc.Alive(h.PID, h.Start)) {
				d.http.drain(httpapi.Restarting) // nobody is left to answer
				held = false
			}
		case err := <-answered:
			if err != nil {
				d.log.Warn("requests cut", "err", err)
			}
			held = false
		case err := <-verdict:
			verdict = nil
			switch {
			case err == nil:
				d.confirm(trial)
				d.establish(s)
			case errors.Is(err, errLeft):
				d.lock.Release() // whoever told it may start another one
				d.http.drain(httpapi.ShuttingDown)
				return nil
			default:
				d.http.drain(httpapi.Restarting)
				return err
			}
		case sig := <-signals:
			if !managed() || verdict != nil {
				forward(d.lockPath(), sig)
			}
			if sig != syscall.SIGHUP {
				d.http.drain(httpapi.ShuttingDown)
				if verdict != nil && managed() { // whose main process this is
					<-s.Ended()
				}
				return nil
			}
		}
	}
	return nil
}

// serveHeld serves what the predecessor still holds, until it has ended.
func (d *daemon) serveHeld() error {
	path := filepath.Join(d.cfg.RuntimeDir, fmt.Sprintf("handover-%d.sock", os.Getpid()))
	_ = os.Remove(path) // of one that was killed and had the same pid; Listen says what else is in the way
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen for the predecessor: %w", err)
	}
	d.closers = append(d.closers, func() { _ = l.Close() })
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("close the predecessor's socket to others: %w", err)
	}
	go func() { // ends when the predecessor has ended, or the server is shut down
		if err := d.http.server.ServeInner(l); err != nil {
			d.log.Error("predecessor not served", "err", err)
		}
	}()
	if err := d.describe(false); err != nil { // not before: should this fail now, the predecessor goes on
		return err
	}
	if err := d.predecessor.Serving(path); err != nil {
		d.log.Warn("predecessor has ended", "err", err)
	}
	go func() { // likewise
		d.predecessor.Gone()
		_ = l.Close()
	}()
	return nil
}

// sweepHeld removes the sockets of serveHeld that killed processes have left. It is
// for a process that has taken the state directory from nobody.
func (d *daemon) sweepHeld() {
	left, _ := filepath.Glob(filepath.Join(d.cfg.RuntimeDir, "handover-*.sock")) // none where the directory's name is no pattern
	for _, path := range left {
		_ = os.Remove(path) // what stays is tried again
	}
}

// forwardWaiting sends on what came while the successor took over: it was meant for
// the gateway, and whoever sent it could not know.
func (d *daemon) forwardWaiting(signals <-chan os.Signal) {
	for {
		select {
		case sig := <-signals:
			forward(d.lockPath(), sig)
		default:
			return
		}
	}
}

// monotonicMicros is the time that systemd compares a reload's end with.
func monotonicMicros() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano() / 1000
}
