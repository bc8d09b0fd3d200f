package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// read sends a message and returns once claude has read it.
func (g *realGateway) read(channel, text string, extra ...any) string {
	g.t.Helper()
	said := g.watch(channel)
	id := g.tell(channel, text, extra...)
	g.hear(said, `"state":"queued"`)
	return id
}

// steer sends a message for the turn that runs, and returns once claude has it.
func (g *realGateway) steer(channel, text string) string {
	g.t.Helper()
	return g.read(channel, text, "mode", "steer")
}

func TestRealInterrupt(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	session := g.say("http", "echo before").str("session_id")
	pid, longest := g.agent("http"), time.Duration(0)
	for _, turn := range []struct {
		text  string
		begun func() bool
	}{
		{"gate never first second", func() bool { return m.isHeld("never") }},
		{"hang", func() bool { return m.asked("hang") == 1 }},
		{"tool:bash " + m.waiting("begun", "go", "done"), func() bool { return len(m.lines("begun")) == 1 }},
	} {
		id := g.tell("http", turn.text)
		m.eventually("turn runs", turn.begun)
		longest = max(longest, g.interrupt("http"))
		a := g.outcome(id)
		g.failed(a, "cancelled", "interrupted")
		if a.str("session_id") != "" && a.str("session_id") != session {
			t.Errorf("session is %s, was %s", a.str("session_id"), session)
		}
	}
	g.mentions(g.say("http", "history"), "echo before", "gate never", "hang", "tool:bash")
	if longest < time.Second { // else claude was too slow, and was ended
		g.sameAgent("http", pid)
	}
	m.touch("go")
	g.say("http", "echo works").want(t, "works")
	if m.exists("done") {
		t.Error("the interrupted command went on")
	}
	g.balanced()
}

// isHeld reports whether a reply has reached the gate.
func (m *realMachine) isHeld(gate string) bool {
	select {
	case <-m.Held(gate):
		return true
	default:
		return false
	}
}

// TestRealInterruptBeforeTheTurnHasBegun ends a turn whose claude still starts:
// the request reaches claude before the turn does.
func TestRealInterruptBeforeTheTurnHasBegun(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	id := g.tell("http", "gate never first second")
	m.eventually("turn is handed over", func() bool { return g.traced(id, "handed") })
	g.must("POST", "/channels/http/interrupt", nil, 200)
	g.failed(g.outcome(id), "cancelled", "interrupted")
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

// TestRealInterruptWithSteeredMessages: what claude had not folded into the turn
// yet runs next, what it had shares the turn's end.
func TestRealInterruptWithSteeredMessages(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		t.Run(fmt.Sprintf("folded %v", folded), func(t *testing.T) {
			t.Parallel()
			m := newRealMachine(t)
			g := m.start()
			first, goOn := duringTool(g)
			second := g.steer("http", "echo steered")
			third := g.tell("http", "echo third")
			open := func() {}
			if folded {
				var held <-chan struct{}
				held, open = m.hold()
				goOn()
				m.await(held, "steered message is sent")
			}
			g.interrupt("http")
			open()
			g.failed(g.outcome(first), "cancelled", "interrupted")
			if a := g.outcome(second); !folded {
				a.want(t, "steered")
			} else if a.str("state") != "cancelled" || a.str("into") != first {
				t.Errorf("folded message: %s", a.body)
			}
			if a := g.outcome(third); a.str("state") != "answered" || a.flag("coalesced") {
				t.Errorf("message that waited: %s", a.body)
			}
			g.balanced()
		})
	}
}

func TestRealMessageInterruptsTurn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first := g.tell("http", "gate never first second")
	m.await(m.Held("never"), "turn runs")
	second := g.tell("http", "echo urgent", "mode", "interrupt")
	g.outcome(second).want(t, "urgent")
	g.failed(g.outcome(first), "cancelled", "interrupted")
	g.balanced()
}

func TestRealSteeringFoldsIntoToolTurn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first, goOn := duringTool(g)
	second := g.steer("http", "echo steered")
	third := g.steer("http", "and this too")
	goOn()
	g.outcome(first).want(t, "steered")
	for _, id := range []string{second, third} {
		if b := g.outcome(id); b.str("state") != "answered" || !b.flag("coalesced") || b.str("into") != first || b.flag("is_error") {
			t.Errorf("steered message: %s", b.body)
		}
	}
	g.say("http", "echo next").want(t, "next")
	if n := len(m.lines("done")); n != 1 || m.Count() != 3 {
		t.Errorf("the tool ended %d times in %d requests, want once in 3", n, m.Count())
	}
	g.balanced()
}

func TestRealSteeringDuringTextIsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	first, goOn := duringText(g)
	second := g.steer("http", "echo own turn")
	goOn()
	g.outcome(first).want(t, "first second")
	a := g.outcome(second)
	a.want(t, "own turn")
	if a.flag("coalesced") {
		t.Errorf("second message: %s", a.body)
	}
	g.say("http", "echo next").want(t, "next")
	g.balanced()
}

// inBackground is the input of a Bash call for waiting as a background task.
func (m *realMachine) inBackground(begun, goOn, done string) string {
	m.t.Helper()
	input, err := json.Marshal(map[string]any{"command": m.waiting(begun, goOn, done), "description": "a task", "run_in_background": true})
	if err != nil {
		m.t.Fatal(err)
	}
	return string(input)
}

func TestRealBackgroundResult(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	events := g.watch("http")
	a := g.say("http", "tool:bash "+m.inBackground("begun", "go", "done"))
	g.mentions(a, "final after 1 call(s)")
	g.say("http", "echo meanwhile").want(t, "meanwhile")
	m.touch("go")
	g.hear(events, "event: background")
	g.say("http", "echo after").want(t, "after")
	history := g.must("GET", "/channels/http/messages", nil, 200)
	backgrounds, _ := history.json["background"].([]any)
	if messages, _ := history.json["messages"].([]any); len(messages) != 3 || len(backgrounds) != 1 {
		t.Errorf("%d messages and %d background results, want 3 and 1: %s", len(messages), len(backgrounds), history.body)
	}
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

// TestRealMessageDuringABackgroundTurn has claude work on its own, after a task
// has ended, when a message comes: claude folds it into that turn.
func TestRealMessageDuringABackgroundTurn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	g.say("http", "tool:bash "+m.inBackground("begun", "go", "done"))
	calls := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m.before.Store(nil)
		realToolCall(w, m.waiting("begun2", "go2", "done2"), true)
	})
	m.before.Store(&calls)
	m.touch("go")
	m.eventually("background turn uses a tool", func() bool { return len(m.lines("begun2")) == 1 })
	id := g.read("http", "echo meanwhile")
	m.touch("go2")
	g.outcome(id).want(t, "meanwhile")
	g.say("http", "echo after").want(t, "after")
	g.balanced()
}

// TestRealRestartFromWithinATurn has claude restart the gateway it is reached by,
// with its Bash tool: the turn goes on, and who waits for it gets its answer.
func TestRealRestartFromWithinATurn(t *testing.T) {
	t.Parallel()
	needCurl(t)
	m := newRealMachine(t)
	g := m.start()
	g.say("http", "echo one").want(t, "one")
	agent := g.agent("http")
	for range 2 {
		generation := g.generation()
		g.say("http", "tool:bash curl -s --unix-socket "+g.sock+" -X POST http://localhost/restart").
			want(t, `final after 1 call(s): {"status":"restarting"}`)
		g.restarted(generation)
	}
	g.sameAgent("http", agent)
	g.say("http", "echo two").want(t, "two")
	g.balanced()
}
