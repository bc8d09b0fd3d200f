package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// TestStop stops a gateway that was started by hand: its turn goes on, nothing starts it
// but a person, and the next one takes the turn up.
func TestStop(t *testing.T) {
	t.Parallel()
	m := newMachine(t, slotLength(0))
	g := m.start()
	h := g.lockFile()
	id := g.tell("desk", "wait "+g.path("go"))
	g.begins("wait ")
	claude := g.hosts()["desk"].ClaudePID
	m.command(exitOK, "stop").shows("Stopped the gateway (pid "+strconv.Itoa(h.PID)+") in ", "1 session kept", "`bareclaw serve`")
	g.waitEnd()
	if proc.Alive(h.PID, h.Start) || !m.lockFile().Ended || g.hosts()["desk"].ClaudePID != claude {
		t.Errorf("the gateway: %+v, hosts: %v", m.lockFile(), g.hosts())
	}
	m.command(exitcode.Unreachable, "status").tells("stopped by you", "Start it with `bareclaw serve`")
	last, _ := m.command(exitcode.Unreachable, "status", "--json").document().json["last"].(map[string]any)
	if last["stopped_at"] == nil || last["crashed"] != false {
		t.Errorf("the last gateway is %v", last)
	}
	if out := m.beat(0); !strings.Contains(out, "stopped by you") || m.outcomes() != "stopped" || lockfile.IsStateHeld(m.path("state")) {
		t.Errorf("a tick made %q of it, and says\n%s", m.outcomes(), out)
	}
	g = m.start()
	m.touch("go")
	g.outcome(id).want(t, "waited for "+g.path("go"))
	m.command(exitOK, "status")
	g.kill()
	m.command(exitcode.Unreachable, "status").tells("crashed or was killed") // and may be revived
}

// TestStopCounts until the machine boots: a tick starts what was stopped in another boot,
// and leaves alone what Ctrl-C has ended in this one.
func TestStopCounts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, slotLength(0), "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK")
	m.start().signal(syscall.SIGINT)
	m.beat(0)
	m.wantBeats("stopped", 0)
	files := m.glob("state/stopped.json")
	if len(files) != 1 {
		t.Fatalf("marks: %v", files)
	}
	var mark map[string]any
	b, err := os.ReadFile(files[0])
	if err == nil {
		err = json.Unmarshal(b, &mark)
	}
	if err == nil {
		mark["boot_id"] = "another"
		b, err = json.Marshal(mark)
	}
	if err == nil {
		err = os.WriteFile(files[0], b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.beat(0)
	m.holder()
	m.wantBeats("stopped, ok", 1)
}

// TestStopWithSessions ends every session, those too that an earlier stop has left.
func TestStopWithSessions(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for i, first := range [][]string{{"stop"}, {"stop", "--now"}, nil} {
		g := m.start()
		g.say("desk", "echo one")
		text := "wait " + g.path("never"+strconv.Itoa(i))
		g.tell("ops", text)
		g.begins(text)
		if first != nil {
			m.command(exitOK, first...).shows("2 sessions kept")
			g.waitEnd()
		}
		m.command(exitOK, "stop", "--sessions").shows("Ended 2 sessions.")
		if hosts := m.hosts(); len(hosts) > 0 {
			t.Errorf("after %v hosts are left: %v", first, hosts)
		}
		g.waitEnd()
		g.touch("never" + strconv.Itoa(i)) // the next gateway runs the turn again
	}
	m.nobodyLeft()
}

// TestStopHung: a gateway that does not listen is waited for, which is told, and killed by
// --now.
func TestStopHung(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	h := g.lockFile()
	m.freeze(h.PID, h.Start)
	waits := m.invoke(nil, "stop")
	m.eventually("it is told that the gateway is waited for", func() bool {
		return strings.Contains(waits.err.String(), "still waiting for the gateway to end") && strings.Contains(waits.err.String(), "`bareclaw stop --now`")
	})
	doc := m.command(exitOK, "stop", "--now", "--json").document()
	if !doc.flag("running") || doc.json["pid"] != float64(h.PID) || proc.Alive(h.PID, h.Start) {
		t.Errorf("it says %s", doc.body)
	}
	waits.wait(exitOK)
	g.waitEnd()
	m.quick().tells(doctor.Warning, "gateway_down", "stopped by you") // and has not died
}

// TestStopTwice stops a gateway twice at once, while a request is held that takes a while to
// answer: the gateway ends as it was told to.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--sessions"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			id := g.tell("desk", "wait "+g.path("go"))
			g.begins("wait ")
			go func() { _, _ = g.do("GET", "/messages/"+id+"?wait=1m", nil) }() // ends with the gateway
			var stops []*invocation
			for range 3 {
				stops = append(stops, m.invoke(nil, append([]string{"stop"}, flags...)...))
			}
			for _, s := range stops {
				<-s.done
				if status := s.cmd.ProcessState.ExitCode(); status != exitOK && status != exitcode.Unreachable { // it came late
					t.Errorf("a stop ended with status %d: %s", status, s.err.String())
				}
			}
			g.waitEnd()
			if status := g.cmd.ProcessState.ExitCode(); status != exitOK || !m.lockFile().Ended {
				t.Errorf("the gateway ended with status %d, and wrote down %+v", status, m.lockFile())
			}
			m.touch("go")
		})
	}
}

// TestStopAfterRestart stops the process that has taken over; the first one, for which a
// shell waits, ends with it.
func TestStopAfterRestart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	generation := g.generation()
	g.must("POST", "/restart", nil, http.StatusOK)
	g.restarted(generation)
	m.command(exitOK, "stop").shows("Stopped the gateway (pid " + strconv.Itoa(m.lockFile().PID) + ")")
	g.waitEnd()
	if status := g.cmd.ProcessState.ExitCode(); status != exitOK {
		t.Errorf("the first process ended with status %d", status)
	}
}

// TestStopNobody: where no gateway runs that is said, with a status of its own; and it is
// not for sessions.
func TestStopNobody(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.command(exitcode.Unreachable, "stop").tells("no gateway runs here", m.path("state"))
	doc := m.command(exitcode.Unreachable, "stop", "--json", "--sessions").document()
	if doc.flag("running") || doc.json["sessions_ended"] != 0.0 {
		t.Errorf("it says %s", doc.body)
	}
	g := m.start()
	in := m.with("BARECLAW_SOCKET=" + g.sock)
	in.command(exitFailure, "stop").tells("for people")
	if _, err := os.Stat(filepath.Join(m.path("state"), "stopped.json")); err == nil {
		t.Error("a refused stop has left its mark")
	}
	m.command(exitUsage, "stop", "--soon")
	m.command(exitOK, "stop")
}
