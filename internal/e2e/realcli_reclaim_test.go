package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"bareclaw/internal/proc"
)

// An unused claude ends and is resumed, but not while it has a background task.
func TestRealUnusedSessionEnds(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_IDLE_TIMEOUT=700ms")
	g := m.start()
	g.say("http", "echo remember me")
	g.eventually("the session has ended", func() bool { return len(g.hosts()) == 0 })
	g.mentions(g.say("http", "history"), "echo remember me")
	g.say("http", "tool:bash "+m.inBackground("begun", "go", "done"))
	before := g.agent("http")
	time.Sleep(2 * time.Second) // more than the idle time
	g.kill()
	g = m.start()
	time.Sleep(2 * time.Second)
	g.sameAgent("http", before)
	events := g.watch("http")
	m.touch("go")
	g.hear(events, "event: background")
	g.eventually("the session has ended", func() bool { return len(g.hosts()) == 0 })
	g.balanced()
}

// TestRealIdleSessionEndsWithoutDaemon ends the gateway: its real claudes end too, one that
// is idle and one that has a turn first, whose answer the next gateway still gets.
func TestRealIdleSessionEndsWithoutDaemon(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_IDLE_TIMEOUT=1s")
	g := m.start()
	id := g.tell("busy", "gate door first second")
	m.await(m.Held("door"), "turn runs")
	g.say("http", "echo remember me")
	hosts := m.hosts()
	g.kill()
	m.gone(hosts["http"].claude())
	if busy := hosts["busy"].claude(); !proc.Alive(busy.PID, busy.Start) {
		t.Error("the claude with a turn was ended")
	}
	m.Release("door")
	m.gone(hosts["busy"].claude())
	g = m.start()
	g.outcome(id).want(t, "first second")
	g.mentions(g.say("busy", "history"), "assistant text: first second")
	g.mentions(g.say("http", "history"), "assistant text: remember me")
	if n := m.asked("gate door"); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.balanced()
}

// A refused login is told at the first attempt, and the session goes on later.
func TestRealRefusedLogin(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	began := time.Now()
	a := g.say("http", "error 401")
	g.failed(a, "failed", "not_logged_in")
	g.mentions(a, "log in again")
	if took := time.Since(began); took > patience { // claude would go on for minutes
		t.Errorf("told after %s", took)
	}
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

// A Bash call may be silent for the timeout that it names, but not for longer.
func TestRealStuckTool(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_STALL_AFTER=10s", "BARECLAW_STALL_ACTION=interrupt") // longer than claude takes to start
	g := m.start()
	call := func(command string, timeout time.Duration) string {
		input := map[string]any{"command": command, "description": "a task"}
		if timeout > 0 {
			input["timeout"] = timeout.Milliseconds()
		}
		b, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return "tool:bash " + string(b)
	}
	id := g.tell("http", call(m.waiting("begun", "go", "done"), 30*time.Second))
	time.Sleep(13 * time.Second) // more than a turn may be silent
	m.touch("go")
	g.mentions(g.outcome(id), "final after 1 call(s)")
	a := g.say("http", call(m.waiting("begun2", "go2", "done2"), 0))
	g.failed(a, "failed", "stalled")
	g.mentions(a, "Bash: echo begun")
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}
