package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// KeepSubcommand is the hidden role of a first process that must not end when
// another has taken over its work: whoever started it waits for it.
const KeepSubcommand = "keep"

// Keep waits until no daemon has the state directory any more, and returns the
// exit status of the last one. Where that is not known, since it was not our child,
// the lock file tells a crash from an end. Signals are sent on to the daemon that
// has it. It is what remains of a daemon after a restart.
func Keep(stateDir string, log *slog.Logger) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD)
	if err := proc.BecomeSubreaper(); err != nil {
		log.Warn("processes whose parent ends are not waited for", "err", err)
	}
	path := filepath.Join(stateDir, lockfile.StateLockName)
	tick := time.NewTicker(keepEvery) // where a daemon is not our child nothing else tells of its end
	defer tick.Stop()
	for {
		h, err := lockfile.ReadHolder(path)
		if err != nil {
			log.Error("the daemon is lost", "err", err)
			return exitcode.Failed
		}
		if h.PID == os.Getpid() {
			log.Error("the daemon is lost: the lock file names this process, which waits for it")
			return exitcode.Failed
		}
		reaped, status := reap(h.PID)
		if !proc.Alive(h.PID, h.Start) && !guarded(stateDir) {
			switch last, err := lockfile.ReadHolder(path); { // it may have written it since, or another one
			case err == nil && last.PID != h.PID:
				continue
			case reaped:
				return status
			case err == nil && last.Ended:
				return exitcode.OK
			}
			return exitcode.Failed
		}
		select {
		case sig := <-signals:
			if sig != syscall.SIGCHLD {
				forward(path, sig)
			}
		case <-tick.C:
		}
	}
}

// guarded reports whether another process goes on in the daemon's place, or ends as
// well: the one that watches over an upgrade.
func guarded(stateDir string) bool {
	t, err := program.Load(stateDir)
	return err == nil && t.Guarded() && t.Guard.PID != os.Getpid()
}

const keepEvery = time.Second

// reap collects children that have ended, and reports how the one with that pid
// did, if it was among them.
func reap(pid int) (ended bool, status int) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || got <= 0 {
			return ended, status
		}
		if got == pid {
			ended, status = true, ws.ExitStatus()
			if ws.Signaled() {
				status = 128 + int(ws.Signal())
			}
		}
	}
}

// forward sends a signal on to the daemon that has the state directory.
func forward(lock string, sig os.Signal) {
	if h, err := lockfile.ReadHolder(lock); err == nil && h.PID != os.Getpid() { // or it would come back for ever
		_ = proc.Signal(h.PID, h.Start, sig.(syscall.Signal)) // it may have ended
	}
}

func (d *daemon) lockPath() string { return filepath.Join(d.cfg.StateDir, lockfile.StateLockName) }

// becomeKeeper replaces this process by its keeper. It only returns with an error.
func (d *daemon) becomeKeeper(path string, signals <-chan os.Signal) error {
	if err := d.tether.hold(); err != nil {
		return err
	}
	d.forwardWaiting(signals)
	args := []string{path, KeepSubcommand, d.cfg.StateDir}
	err := syscall.Exec(path, args, os.Environ())
	// Somebody has removed its file since, or is about to replace it: this one can stay too.
	if errOwn := syscall.Exec(program.Running(d.self), args, os.Environ()); errOwn != nil {
		return fmt.Errorf("stay as %s: %w", path, errors.Join(err, errOwn))
	}
	return nil
}

// mustStay reports whether whoever started this process takes its end for the end
// of the gateway. A service manager that was told of the new main process does not,
// and nobody waits for a process that a keeper has taken in.
func (d *daemon) mustStay() bool { return !managed() && d.predecessor == nil && !d.tether.kept }

// managed reports whether a service manager takes the process that it is told of
// for the main one. Process 1 cannot be replaced for anybody: where it is given
// a socket, that is of whoever runs the container.
func managed() bool { return os.Getenv("NOTIFY_SOCKET") != "" && os.Getpid() != 1 }
