package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// coming is how many processes may be started on the whole machine before the one
// whose number is guessed.
const coming = 4000

// ahead calls leave with the path that each of the next processes would listen on
// for its predecessor.
func (m *machine) ahead(leave func(path string) error) {
	m.t.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		m.t.Fatal(err)
	}
	fields := strings.Fields(string(b))
	last, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		m.t.Fatal(err)
	}
	for pid := last + 1; pid < last+coming; pid++ {
		if err := leave(m.path(fmt.Sprintf("run/handover-%d.sock", pid))); err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestSocketOfAKilledDaemon restarts where a daemon with the same process number was
// killed before, as happens in a container whose state is kept: what that has left
// is in nobody's way.
func TestSocketOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	m.ahead(func(path string) error { return os.WriteFile(path, nil, 0o600) })
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	g.kill()
	g = m.start()
	if left := m.glob("run/handover-*.sock"); len(left) > 0 {
		t.Errorf("%d sockets of processes that are gone are left, as %s", len(left), filepath.Base(left[0]))
	}
	g.balanced()
}

// TestSecondTakeOverFails has the process that is to take over from the second one
// fail when it is too late to go back. The second one goes on, and the first one,
// which whoever started the gateway knows, still ends with it and no sooner.
func TestSecondTakeOverFails(t *testing.T) {
	t.Parallel()
	for name, wait := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			generation := g.generation()
			g.must("POST", "/restart", nil, 200)
			g.restarted(generation)
			wait(g)
			g.failsToTakeOver()
			g.say("http", "echo hello").want(t, "hello")
			select {
			case <-g.done:
				t.Fatalf("the first process has ended and the daemon lives: %v", g.err)
			default:
			}
			if g.signal(syscall.SIGTERM); g.cmd.ProcessState.ExitCode() != exitOK {
				t.Errorf("the first process ends with %v", g.cmd.ProcessState)
			}
			m.eventually("nothing is left", func() bool { return len(m.processes()) == len(m.hosts())*2 })
		})
	}
}

// TestTetherAfterAFailedTakeOver kills the process that was started after the daemon
// had to start anew: the daemon ends too, as at any other time.
func TestTetherAfterAFailedTakeOver(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	endings["later"](g)
	g.failsToTakeOver()
	daemon := m.lockFile()
	g.signal(syscall.SIGKILL)
	m.eventually("the daemon ends too", func() bool { return !proc.Alive(daemon.PID, daemon.Start) })
}

// TestRestartOnAFullDisk asks for a restart while nothing can be written: the
// gateway goes on as it is and says why.
func TestRestartOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.smallDisk()
	g := m.start()
	g.usable("busy")
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	free := m.fill()
	g.refusals("busy", 507, "storage_full")
	if a := g.must("POST", "/restart", nil, 503); a.str("code") != "restart_failed" {
		t.Errorf("restart says %s", a.body)
	}
	if h := g.must("GET", "/health", nil, 200); h.str("status") != "degraded" || !strings.Contains(string(h.body), "no space left") {
		t.Errorf("health is %s", h.body)
	}
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	free()
	g.usable("busy")
	if h := g.must("GET", "/health", nil, 200); h.str("status") != "ok" && !strings.Contains(string(h.body), "restart") {
		t.Errorf("health is %s", h.body)
	}
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	g.usable("busy")
}

// failsToTakeOver has a process fail when it is too late to go back, and returns when
// the daemon has started anew. Should more processes be started on the machine than were
// thought of, the next one takes over, and the one after that is to fail.
func (g *gateway) failsToTakeOver() {
	g.t.Helper()
	for anew := false; !anew; {
		g.ahead(func(path string) error { return os.MkdirAll(filepath.Join(path, "in the way"), 0o700) })
		before, generation := g.lockFile(), g.generation()
		g.must("POST", "/restart", nil, 200)
		g.eventually("another one serves, or the daemon has started anew", func() bool {
			h, err := lockfile.ReadHolder(g.path("state/" + lockfile.StateLockName))
			if err != nil || h.Address == "" {
				return false
			}
			g.base = "http://" + h.Address // no port is configured, so it has another one
			a, err := g.do("GET", "/health", nil)
			anew = err == nil && a.number("generation") > generation+1 // the one that failed had a number too
			return err == nil && a.flag("ready") && (anew || h.PID != before.PID)
		})
	}
}
