package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/proc"
)

// A claude that nobody uses is ended, and the next message finds the conversation.
func TestUnusedSessionEndsAndIsResumed(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_IDLE_TIMEOUT=300ms")
	g := m.start()
	first := g.say("http", "echo remember me")
	g.eventually("the session has ended", func() bool { return len(g.hosts()) == 0 })
	g.eventually("the channel is idle", func() bool { return g.channel("http").str("state") == "idle" })
	again := g.say("http", "history")
	if !strings.Contains(again.str("text"), "remember me") || again.str("session_id") != first.str("session_id") {
		t.Errorf("afterwards: %s, before: %s", again.body, first.body)
	}
	g.balanced()
}

// TestIdleSessionEndsWithoutDaemon ends the gateway for good, as far as its sessions can
// tell: a claude that is idle ends after the idle timeout all the same, one that has a
// turn after that, and the next gateway still gets the answer.
func TestIdleSessionEndsWithoutDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*gateway){
		"stopped": func(g *gateway) { g.signal(syscall.SIGTERM) },
		"killed":  func(g *gateway) { g.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_IDLE_TIMEOUT=1s")
			g := m.start()
			id := g.tell("busy", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
			first := g.say("idle", "echo remember me")
			hosts := m.hosts()
			busy, idle := hosts["busy"], hosts["idle"]
			end(g)
			gone := func(pid int, start uint64) func() bool { return func() bool { return !proc.Alive(pid, start) } }
			m.eventually("the idle claude ends", gone(idle.ClaudePID, idle.ClaudeStart))
			if !proc.Alive(busy.ClaudePID, busy.ClaudeStart) {
				t.Error("the claude with a turn was ended")
			}
			m.touch("go")
			m.eventually("the other claude ends after its turn", gone(busy.ClaudePID, busy.ClaudeStart))
			if !proc.Alive(busy.PID, busy.Start) {
				t.Error("the host with the answer has ended")
			}
			g = m.start()
			g.outcome(id).want(t, "waited for "+m.path("go"))
			again := g.say("idle", "history")
			if !strings.Contains(again.str("text"), "remember me") || again.str("session_id") != first.str("session_id") {
				t.Errorf("afterwards: %s, before: %s", again.body, first.body)
			}
			if n := m.begun("wait "); n != 1 {
				t.Errorf("the turn was begun %d times, want once", n)
			}
			g.balanced()
		})
	}
}

// A background task keeps its claude, also through a restart of the daemon.
func TestBackgroundTaskKeepsItsSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_IDLE_TIMEOUT=300ms")
	g := m.start()
	g.say("http", "background 2500 it is done")
	g.kill()
	g = m.start()
	g.eventually("the task reports", func() bool {
		all := g.must("GET", "/channels/http/messages", nil, 200).array("background")
		return len(all) == 1 && all[0].str("text") == "it is done"
	})
	g.eventually("the session has ended", func() bool { return len(g.hosts()) == 0 })
	g.balanced()
}

// The least recently used session makes room; what finds none that can waits.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_MAX_SESSIONS=1")
	g := m.start()
	g.say("a", "echo one")
	g.say("b", "echo two").want(t, "two")
	g.eventually("nothing but that one is left", func() bool { hosts := g.hosts(); return len(hosts) == 1 && hosts["b"].PID != 0 })
	held, finish := g.occupy("b")
	id := g.tell("a", "echo three")
	g.eventually("the message says why it waits", func() bool {
		return strings.Contains(g.must("GET", "/messages/"+id, nil, 200).str("why"), "BARECLAW_MAX_SESSIONS")
	})
	if st := g.channel("a").str("state"); st != "waiting" {
		t.Errorf("channel is %s", st)
	}
	finish()
	g.outcome(held)
	g.outcome(id).want(t, "three")
	g.balanced()
}

// A turn that hangs is ended when that is asked for, even if claude is deaf.
func TestStuckTurnIsEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_STALL_AFTER=3s", "BARECLAW_STALL_ACTION=interrupt") // within which a slow machine starts a claude
	g := m.start()
	for _, text := range []string{"slow 600000 x", "tool 600000 x"} {
		if a := g.say("http", text); a.code() != "stalled" || !strings.Contains(a.str("text"), "Nothing was heard") {
			t.Errorf("%s: %s", text, a.body)
		}
		g.say("http", "echo ok").want(t, "ok")
	}
	began := time.Now()
	if a := g.say("http", "mute"); a.code() != "stalled" || time.Since(began) < 5*time.Second {
		t.Errorf("mute after %s: %s", time.Since(began), a.body)
	}
	g.say("http", "echo ok").want(t, "ok")
	g.balanced()
}

// A refused login fails the turn at once; what waits goes on with the next message.
func TestRefusedLoginParks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("http", "echo hello")
	held := g.hold(obj{"text": "apiretry 600000 401"})
	m.eventually("the turn runs", func() bool { return m.begun("apiretry") == 1 })
	a := held.answer(200)
	if a.code() != "not_logged_in" || !strings.Contains(a.str("text"), "log in again") {
		t.Errorf("answer: %s", a.body)
	}
	if c := g.channel("http"); c.str("state") != "parked" || !strings.Contains(c.str("why"), "log in again") || c.str("until") == "" {
		t.Errorf("channel: %s", c.body)
	}
	g.say("http", "echo back").want(t, "back")
	if c := g.channel("http"); c.str("state") != "ready" {
		t.Errorf("channel: %s", c.body)
	}
	g.balanced()
}
