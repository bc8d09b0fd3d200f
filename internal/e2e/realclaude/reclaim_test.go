package realclaude

import (
	"encoding/json"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// An unused claude ends and is resumed, but not while it has a background task.
func TestRealUnusedSessionEnds(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_IDLE_TIMEOUT=700ms")
	g.Say("http", "echo remember me")
	g.Eventually("the session has ended", func() bool { return len(g.Hosts()) == 0 })
	g.Mentions(g.Say("http", "history"), "echo remember me")
	g.Say("http", "tool:bash "+m.InBackground("begun", "go", "done"))
	before := g.Agent("http")
	time.Sleep(2 * time.Second) // more than the idle time
	g.Kill()
	g = m.Start()
	time.Sleep(2 * time.Second)
	g.SameAgent("http", before)
	events := g.Watch("http")
	m.Touch("go")
	g.Hear(events, "event: background")
	g.Eventually("the session has ended", func() bool { return len(g.Hosts()) == 0 })
	g.Balanced()
}

// TestRealIdleSessionEndsWithoutDaemon ends the gateway: its real claudes end too, one that
// is idle and one that has a turn first, whose answer the next gateway still gets.
func TestRealIdleSessionEndsWithoutDaemon(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_IDLE_TIMEOUT=1s")
	id := g.Tell("busy", "gate door first second")
	m.Await(m.Held("door"), "turn runs")
	g.Say("http", "echo remember me")
	hosts := m.Hosts()
	g.Kill()
	m.Gone(hosts["http"].Claude())
	if busy := hosts["busy"].Claude(); !proc.Alive(busy.PID, busy.Start) {
		t.Error("the claude with a turn was ended")
	}
	m.Release("door")
	m.Gone(hosts["busy"].Claude())
	g = m.Start()
	g.Outcome(id).Want(t, "first second")
	g.Mentions(g.Say("busy", "history"), "assistant text: first second")
	g.Mentions(g.Say("http", "history"), "assistant text: remember me")
	if n := m.Asked("gate door"); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.Balanced()
}

// A refused login is told at the first attempt, and the session goes on later.
func TestRealRefusedLogin(t *testing.T) {
	_, g := harness.StartReal(t)
	began, late := time.Now(), harness.Lateness()
	a := g.Say("http", "error 401")
	g.Failed(a, "failed", "not_logged_in")
	g.Mentions(a, "is not logged in")
	if took := time.Since(began); took > time.Minute+late() { // claude would go on for minutes
		t.Errorf("told after %s", took)
	}
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}

// A Bash call may be silent for the timeout that it names, but not for longer.
func TestRealStuckTool(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t, "BARECLAW_STALL_AFTER=25s", "BARECLAW_STALL_ACTION=interrupt") // longer than claude takes to start
	g := m.Start()
	call := func(command string, timeout time.Duration) string {
		input := map[string]any{"command": command, "description": "a task"}
		if timeout > 0 {
			input["timeout"] = timeout.Milliseconds()
		}
		b, err := json.Marshal(input)
		check.OK(t, err)
		return "tool:bash " + string(b)
	}
	id := g.Tell("http", call(m.Waiting("begun", "go", "done"), 60*time.Second))
	time.Sleep(30 * time.Second) // more than a turn may be silent
	m.Touch("go")
	g.Mentions(g.Outcome(id), "final after 1 call(s)")
	a := g.Say("http", call(m.Waiting("begun2", "go2", "done2"), 0))
	g.Failed(a, "failed", "stalled")
	g.Mentions(a, "Bash: echo begun")
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}
