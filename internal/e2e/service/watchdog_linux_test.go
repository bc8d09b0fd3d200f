package service

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// watched is what has systemd watch over a unit.
func watched(seconds int) []string {
	return append(slices.Clone(notify), "WatchdogSec="+strconv.Itoa(seconds))
}

// TestWatchdog runs the gateway as a unit that systemd watches over.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	underSystemd(t, map[string]func(*testing.T, *harness.UserManager){"is busy": unitIsBusy, "has a slow disk": unitHasSlowDisk})
}

// hangs are ways to have a daemon hang. What they return lets go of it.
var hangs = map[string]func(u *unit, pid int) (letGo func()){
	"stopped": func(u *unit, pid int) func() {
		h := u.LockFile()
		check.OK(u.T, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGSTOP))
		return func() {}
	},
	"a stuck ledger": func(u *unit, pid int) func() {
		tr := u.Trace(pid, "fdatasync,fsync"+harness.Hold60)
		go func() { _, _ = u.Do("POST", "/message", harness.Obj{"channel": "other", "text": "echo hello"}) }() // ends with the daemon
		return tr.Detach
	},
	"a stuck lane": func(u *unit, pid int) func() {
		tr := u.Trace(pid, "write"+harness.Hold60, harness.OnlyFiles(u.HostSockets(pid))...)
		go func() { _, _ = u.Do("POST", "/message", harness.Obj{"text": "echo hello", "mode": "steer"}) }() // likewise
		return tr.Detach
	},
}

// hangAndReturn has the daemon hang while a turn runs: systemd kills it and starts
// another, which answers the turn, of the same claude.
func (u *unit) hangAndReturn(hang func(u *unit, pid int) (letGo func()), restarts int) {
	u.T.Helper()
	file := u.Path("go" + strconv.Itoa(restarts))
	id := u.Tell("http", "wait "+file)
	u.Eventually("the turn runs", func() bool { return u.Begun(file) == 1 })
	claude, old := u.Hosts()["http"], u.LockFile()
	letGo := hang(u, old.Worker)
	u.Eventually("systemd ends it", func() bool { return u.show("SubState") != "running" || u.show("NRestarts") == strconv.Itoa(restarts) })
	letGo() // strace would keep what it traces from dying
	u.Eventually("systemd has started it anew", func() bool {
		return !proc.Alive(old.Worker, old.WorkerStart) && u.show("NRestarts") == strconv.Itoa(restarts) && u.show("SubState") == "running"
	})
	u.found()
	if now := u.Hosts()["http"]; now.ClaudePID != claude.ClaudePID || now.ClaudeStart != claude.ClaudeStart || claude.ClaudePID == 0 {
		u.T.Errorf("claude was %+v and is %+v", claude, now)
	}
	u.Touch(filepath.Base(file))
	u.Outcome(id).Want(u.T, "waited for "+file)
	if n := u.Begun(file); n != 1 {
		u.T.Errorf("%d turns begun, want 1", n)
	}
	u.Balanced()
}

// unitIsBusy has a claude that says nothing for several intervals, also while daemons
// hand over: none of them is killed.
func unitIsBusy(t *testing.T, manager *harness.UserManager) {
	m := harness.NewMachine(t)
	u := startUnit(m, manager, watched(10)...)
	finish := u.Task("http")
	for range 2 {
		u.told(4) // more than an interval
		u.handOver(u.restart)
	}
	u.told(4)
	u.isWell()
	finish(u.Gateway)
}

// told waits until systemd has been told so many times that the daemon is alive.
func (u *unit) told(times int) {
	u.T.Helper()
	last := ""
	u.Eventually("systemd is told "+strconv.Itoa(times)+" times", func() bool {
		if now := u.show("WatchdogTimestampMonotonic"); now != last {
			last, times = now, times-1
		}
		return times < 0
	})
}

// unitHasSlowDisk has each sync take a quarter of the watchdog's interval, with always
// one more to do, on a machine that may be busy besides: nobody is killed, all is
// answered, and the log says why it takes so long.
func unitHasSlowDisk(t *testing.T, manager *harness.UserManager) {
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	u := startUnit(m, manager, watched(12)...)
	u.Say("c0", "echo hello").Want(t, "hello")
	tr := u.Trace(u.Worker(), "fdatasync,fsync:delay_enter=3000000")
	var busy sync.WaitGroup
	enough := make(chan struct{})
	for n := range 3 {
		busy.Go(func() {
			for {
				select {
				case <-enough:
					return
				default:
				}
				a, err := u.Do("POST", "/message", harness.Obj{"channel": "c" + strconv.Itoa(n), "text": "echo hello"})
				if err != nil || a.Status != 200 {
					t.Errorf("a message: %v, status %d: %s", err, a.Status, a.Body)
					return
				}
			}
		})
	}
	u.told(7) // for more than two intervals
	tr.Detach()
	close(enough)
	busy.Wait()
	u.isWell()
	u.Balanced()
	if b, err := os.ReadFile(m.Path("log")); err != nil || !strings.Contains(string(b), "the disk is slow") {
		t.Errorf("the log, %v, does not say that the disk is slow:\n%s", err, b)
	}
}
