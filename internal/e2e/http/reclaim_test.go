package http

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// A claude that nobody uses is ended, and the next message finds the conversation.
func TestUnusedSessionEndsAndIsResumed(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_IDLE_TIMEOUT=300ms")
	g := m.Start()
	first := g.Say("http", "echo remember me")
	g.Eventually("the session has ended", func() bool { return len(g.Hosts()) == 0 })
	g.Eventually("the channel is idle", func() bool { return g.Channel("http").Str("state") == "idle" })
	again := g.Say("http", "history")
	if !strings.Contains(again.Str("text"), "remember me") || again.Str("session_id") != first.Str("session_id") {
		t.Errorf("afterwards: %s, before: %s", again.Body, first.Body)
	}
	g.Balanced()
}

// TestIdleSessionEndsWithoutDaemon ends the gateway for good, as far as its sessions can
// tell: a claude that is idle ends after the idle timeout all the same, one that has a
// turn after that, and the next gateway still gets the answer.
func TestIdleSessionEndsWithoutDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*harness.Gateway){
		"stopped": func(g *harness.Gateway) { g.Signal(syscall.SIGTERM) },
		"killed":  func(g *harness.Gateway) { g.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, "BARECLAW_IDLE_TIMEOUT=1s")
			g := m.Start()
			id := g.Tell("busy", "wait "+m.Path("go"))
			m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
			first := g.Say("idle", "echo remember me")
			hosts := m.Hosts()
			busy, idle := hosts["busy"], hosts["idle"]
			end(g)
			gone := func(pid int, start uint64) func() bool { return func() bool { return !proc.Alive(pid, start) } }
			m.Eventually("the idle claude ends", gone(idle.ClaudePID, idle.ClaudeStart))
			if !proc.Alive(busy.ClaudePID, busy.ClaudeStart) {
				t.Error("the claude with a turn was ended")
			}
			m.Touch("go")
			m.Eventually("the other claude ends after its turn", gone(busy.ClaudePID, busy.ClaudeStart))
			if !proc.Alive(busy.PID, busy.Start) {
				t.Error("the host with the answer has ended")
			}
			g = m.Start()
			g.Outcome(id).Want(t, "waited for "+m.Path("go"))
			again := g.Say("idle", "history")
			if !strings.Contains(again.Str("text"), "remember me") || again.Str("session_id") != first.Str("session_id") {
				t.Errorf("afterwards: %s, before: %s", again.Body, first.Body)
			}
			if n := m.Begun("wait "); n != 1 {
				t.Errorf("the turn was begun %d times, want once", n)
			}
			g.Balanced()
		})
	}
}

// A background task keeps its claude, also through a restart of the daemon.
func TestBackgroundTaskKeepsItsSession(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_IDLE_TIMEOUT=300ms")
	g := m.Start()
	g.Say("http", "background 2500 it is done")
	g.Kill()
	g = m.Start()
	g.Eventually("the task reports", func() bool {
		all := g.Must("GET", "/channels/http/messages", nil, 200).Array("background")
		return len(all) == 1 && all[0].Str("text") == "it is done"
	})
	g.Eventually("the session has ended", func() bool { return len(g.Hosts()) == 0 })
	g.Balanced()
}

// The least recently used session makes room; what finds none that can waits.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_SESSIONS=1")
	g := m.Start()
	g.Say("a", "echo one")
	g.Say("b", "echo two").Want(t, "two")
	g.Eventually("nothing but that one is left", func() bool { hosts := g.Hosts(); return len(hosts) == 1 && hosts["b"].PID != 0 })
	held, finish := g.Occupy("b")
	id := g.Tell("a", "echo three")
	g.Eventually("the message says why it waits", func() bool {
		return strings.Contains(g.Must("GET", "/messages/"+id, nil, 200).Str("why"), "BARECLAW_MAX_SESSIONS")
	})
	if st := g.Channel("a").Str("state"); st != "waiting" {
		t.Errorf("channel is %s", st)
	}
	finish()
	g.Outcome(held)
	g.Outcome(id).Want(t, "three")
	g.Balanced()
}

// A turn that hangs is ended when that is asked for, even if claude is deaf.
func TestStuckTurnIsEnded(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_STALL_AFTER=3s", "BARECLAW_STALL_ACTION=interrupt") // within which a slow machine starts a claude
	g := m.Start()
	for _, text := range []string{"slow 600000 x", "tool 600000 x"} {
		if a := g.Say("http", text); a.Code() != "stalled" || !strings.Contains(a.Str("text"), "Nothing was heard") {
			t.Errorf("%s: %s", text, a.Body)
		}
		g.Say("http", "echo ok").Want(t, "ok")
	}
	began := time.Now()
	if a := g.Say("http", "mute"); a.Code() != "stalled" || time.Since(began) < 5*time.Second {
		t.Errorf("mute after %s: %s", time.Since(began), a.Body)
	}
	g.Say("http", "echo ok").Want(t, "ok")
	g.Balanced()
}

// A refused login fails the turn at once; what waits goes on with the next message.
func TestRefusedLoginParks(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("http", "echo hello")
	held := g.Hold(harness.Obj{"text": "apiretry 600000 401"})
	m.Eventually("the turn runs", func() bool { return m.Begun("apiretry") == 1 })
	a := held.Answer(200)
	if a.Code() != "not_logged_in" || !strings.Contains(a.Str("text"), "log in again") {
		t.Errorf("answer: %s", a.Body)
	}
	if c := g.Channel("http"); c.Str("state") != "parked" || !strings.Contains(c.Str("why"), "log in again") || c.Str("until") == "" {
		t.Errorf("channel: %s", c.Body)
	}
	g.Say("http", "echo back").Want(t, "back")
	if c := g.Channel("http"); c.Str("state") != "ready" {
		t.Errorf("channel: %s", c.Body)
	}
	g.Balanced()
}
