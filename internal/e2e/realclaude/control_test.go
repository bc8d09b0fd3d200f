package realclaude

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/messagesapi"
)

func TestRealInterrupt(t *testing.T) {
	m, g := harness.StartReal(t)
	session := g.Say("http", "echo before").Str("session_id")
	pid, longest := g.Agent("http"), time.Duration(0)
	for _, turn := range []struct {
		text  string
		begun func() bool
	}{
		{"gate never first second", func() bool { return harness.Closed(m.Held("never")) }},
		{"hang", func() bool { return m.Asked("hang") == 1 }},
		{"tool:bash " + m.Waiting("begun", "go", "done"), func() bool { return len(m.Lines("begun")) == 1 }},
	} {
		id := g.Tell("http", turn.text)
		m.Eventually("turn runs", turn.begun)
		longest = max(longest, g.Interrupt("http"))
		a := g.Outcome(id)
		g.Failed(a, "cancelled", "interrupted")
		if a.Str("session_id") != "" && a.Str("session_id") != session {
			t.Errorf("session is %s, was %s", a.Str("session_id"), session)
		}
	}
	g.Mentions(g.Say("http", "history"), "echo before", "gate never", "hang", "tool:bash")
	if longest < time.Second { // else claude was too slow, and was ended
		g.SameAgent("http", pid)
	}
	m.Touch("go")
	g.Say("http", "echo works").Want(t, "works")
	if m.Exists("done") {
		t.Error("the interrupted command went on")
	}
	g.Balanced()
}

// TestRealInterruptBeforeTheTurnHasBegun ends a turn whose claude still starts:
// the request reaches claude before the turn does.
func TestRealInterruptBeforeTheTurnHasBegun(t *testing.T) {
	m, g := harness.StartReal(t)
	id := g.Tell("http", "gate never first second")
	m.Eventually("turn is handed over", func() bool { return g.Traced(id, "handed") })
	g.Must("POST", "/channels/http/interrupt", nil, 200)
	g.Failed(g.Outcome(id), "cancelled", "interrupted")
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}

// TestRealInterruptWithSteeredMessages: what claude had not folded into the turn
// yet runs next, what it had shares the turn's end.
func TestRealInterruptWithSteeredMessages(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		t.Run(fmt.Sprintf("folded %v", folded), func(t *testing.T) {
			m, g := harness.StartReal(t)
			first, goOn := duringTool(g)
			second := g.Read("http", "echo steered", "mode", "steer")
			third := g.Tell("http", "echo third")
			open := func() {}
			if folded {
				var held <-chan struct{}
				held, open = m.Hold()
				goOn()
				m.Await(held, "steered message is sent")
			}
			g.Interrupt("http")
			open()
			g.Failed(g.Outcome(first), "cancelled", "interrupted")
			if a := g.Outcome(second); !folded {
				a.Want(t, "steered")
			} else if a.Str("state") != "cancelled" || a.Str("into") != first {
				t.Errorf("folded message: %s", a.Body)
			}
			if a := g.Outcome(third); a.Str("state") != "answered" || a.Flag("coalesced") {
				t.Errorf("message that waited: %s", a.Body)
			}
			g.Balanced()
		})
	}
}

func TestRealSteeringFoldsIntoToolTurn(t *testing.T) {
	m, g := harness.StartReal(t)
	first, goOn := duringTool(g)
	second := g.Read("http", "echo steered", "mode", "steer")
	third := g.Read("http", "and this too", "mode", "steer")
	goOn()
	g.Outcome(first).Want(t, "steered")
	for _, id := range []string{second, third} {
		if b := g.Outcome(id); b.Str("state") != "answered" || !b.Flag("coalesced") || b.Str("into") != first || b.Flag("is_error") {
			t.Errorf("steered message: %s", b.Body)
		}
	}
	g.Say("http", "echo next").Want(t, "next")
	if n := len(m.Lines("done")); n != 1 || m.Count() != 3 {
		t.Errorf("the tool ended %d times in %d requests, want once in 3", n, m.Count())
	}
	g.Balanced()
}

func TestRealSteeringDuringTextIsATurnOfItsOwn(t *testing.T) {
	_, g := harness.StartReal(t)
	first, goOn := duringText(g)
	second := g.Read("http", "echo own turn", "mode", "steer")
	goOn()
	g.Outcome(first).Want(t, "first second")
	a := g.Outcome(second)
	a.Want(t, "own turn")
	if a.Flag("coalesced") {
		t.Errorf("second message: %s", a.Body)
	}
	g.Say("http", "echo next").Want(t, "next")
	g.Balanced()
}

func TestRealBackgroundResult(t *testing.T) {
	m, g := harness.StartReal(t)
	events := g.Watch("http")
	a := g.Say("http", "tool:bash "+m.InBackground("begun", "go", "done"))
	g.Mentions(a, "final after 1 call(s)")
	g.Say("http", "echo meanwhile").Want(t, "meanwhile")
	m.Touch("go")
	g.Hear(events, "event: background")
	g.Say("http", "echo after").Want(t, "after")
	history := g.Must("GET", "/channels/http/messages", nil, 200)
	backgrounds, _ := history.JSON["background"].([]any)
	if messages, _ := history.JSON["messages"].([]any); len(messages) != 3 || len(backgrounds) != 1 {
		t.Errorf("%d messages and %d background results, want 3 and 1: %s", len(messages), len(backgrounds), history.Body)
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

// TestRealMessageDuringABackgroundTurn has claude work on its own, after a task
// has ended, when a message comes: claude folds it into that turn.
func TestRealMessageDuringABackgroundTurn(t *testing.T) {
	m, g := harness.StartReal(t)
	g.Say("http", "tool:bash "+m.InBackground("begun", "go", "done"))
	calls := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Before.Store(nil)
		s := messagesapi.Reply(w, r)
		s.Tool("toolu_call", "Bash", messagesapi.Bash(m.Waiting("begun2", "go2", "done2")))
		s.End("tool_use")
	})
	m.Before.Store(&calls)
	m.Touch("go")
	m.Eventually("background turn uses a tool", func() bool { return len(m.Lines("begun2")) == 1 })
	id := g.Read("http", "echo meanwhile")
	m.Touch("go2")
	g.Outcome(id).Want(t, "meanwhile")
	g.Say("http", "echo after").Want(t, "after")
	g.Balanced()
}
