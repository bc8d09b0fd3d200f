package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// watched is what has systemd watch over a unit.
func watched(seconds int) []string {
	return append(slices.Clone(notify), "WatchdogSec="+strconv.Itoa(seconds))
}

// hold60 has a system call take a minute.
const hold60 = ":delay_enter=60000000"

// TestWatchdog runs the gateway as a unit that systemd watches over.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		for name, test := range map[string]func(*testing.T, *userManager){"hangs": unitHangs, "is busy": unitIsBusy, "has a slow disk": unitHasSlowDisk} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, manager)
			})
		}
	})
}

// hangs are ways to have a daemon hang. What they return lets go of it.
var hangs = map[string]func(u *unit, pid int) (letGo func()){
	"stopped": func(u *unit, pid int) func() {
		h := u.lockFile()
		if err := proc.Signal(h.PID, h.Start, syscall.SIGSTOP); err != nil {
			u.t.Fatal(err)
		}
		return func() {}
	},
	"a stuck ledger": func(u *unit, pid int) func() {
		tr := u.trace(pid, "fdatasync,fsync"+hold60)
		go func() { _, _ = u.do("POST", "/message", obj{"channel": "other", "text": "echo hello"}) }() // ends with the daemon
		return tr.detach
	},
	"a stuck lane": func(u *unit, pid int) func() {
		tr := u.trace(pid, "write"+hold60, u.hostSockets(pid)...)
		go func() { _, _ = u.do("POST", "/message", obj{"text": "echo hello", "mode": "steer"}) }() // likewise
		return tr.detach
	},
}

// hangAndReturn has the daemon hang while a turn runs: systemd kills it and starts
// another, which answers the turn, of the same claude.
func (u *unit) hangAndReturn(hang func(u *unit, pid int) (letGo func()), restarts int) {
	u.t.Helper()
	file := u.path("go" + strconv.Itoa(restarts))
	id := u.tell("http", "wait "+file)
	u.eventually("the turn runs", func() bool { return u.begun(file) == 1 })
	claude, old := u.hosts()["http"], u.lockFile()
	letGo := hang(u, old.PID)
	u.eventually("systemd ends it", func() bool { return u.show("SubState") != "running" || u.show("NRestarts") == strconv.Itoa(restarts) })
	letGo() // strace would keep what it traces from dying
	u.eventually("systemd has started it anew", func() bool {
		return !proc.Alive(old.PID, old.Start) && u.show("NRestarts") == strconv.Itoa(restarts) && u.show("SubState") == "running"
	})
	u.found()
	if now := u.hosts()["http"]; now.ClaudePID != claude.ClaudePID || now.ClaudeStart != claude.ClaudeStart || claude.ClaudePID == 0 {
		u.t.Errorf("claude was %+v and is %+v", claude, now)
	}
	u.touch(filepath.Base(file))
	u.outcome(id).want(u.t, "waited for "+file)
	if n := u.begun(file); n != 1 {
		u.t.Errorf("%d turns begun, want 1", n)
	}
	u.balanced()
}

// unitHangs has the daemon hang in several ways.
func unitHangs(t *testing.T, manager *userManager) {
	needStrace(t)
	for name, hang := range hangs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newMachine(t).unit(manager, watched(10)...).hangAndReturn(hang, 1) // ten seconds, which a busy machine does not exceed by itself
		})
	}
}

// unitIsBusy has a claude that says nothing for several intervals, also while daemons
// hand over: none of them is killed.
func unitIsBusy(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, watched(10)...)
	id := u.tell("http", "wait "+m.path("go"))
	m.eventually("the turn runs", func() bool { return m.begun("wait") == 1 })
	for range 2 {
		u.told(4) // more than an interval
		u.handOver(u.restart)
	}
	u.told(4)
	u.isWell()
	m.touch("go")
	u.outcome(id).want(t, "waited for "+m.path("go"))
	u.balanced()
}

// told waits until systemd has been told so many times that the daemon is alive.
func (u *unit) told(times int) {
	u.t.Helper()
	last := ""
	u.eventually("systemd is told "+strconv.Itoa(times)+" times", func() bool {
		if now := u.show("WatchdogTimestampMonotonic"); now != last {
			last, times = now, times-1
		}
		return times < 0
	})
}

// unitHasSlowDisk has each sync take a quarter of the watchdog's interval, with always
// one more to do, on a machine that may be busy besides: nobody is killed, all is
// answered, and the log says why it takes so long.
func unitHasSlowDisk(t *testing.T, manager *userManager) {
	needStrace(t)
	m := newMachine(t)
	u := m.unit(manager, watched(12)...)
	u.say("c0", "echo hello").want(t, "hello")
	tr := u.trace(u.lockFile().PID, "fdatasync,fsync:delay_enter=3000000")
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
				a, err := u.do("POST", "/message", obj{"channel": "c" + strconv.Itoa(n), "text": "echo hello"})
				if err != nil || a.status != 200 {
					t.Errorf("a message: %v, status %d: %s", err, a.status, a.body)
					return
				}
			}
		})
	}
	u.told(7) // for more than two intervals
	tr.detach()
	close(enough)
	busy.Wait()
	u.isWell()
	u.balanced()
	if b, err := os.ReadFile(m.path("log")); err != nil || !strings.Contains(string(b), "the disk is slow") {
		t.Errorf("the log, %v, does not say that the disk is slow:\n%s", err, b)
	}
}
