package realclaude

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/messagesapi"
)

// A realMoment is a point of a turn's life at which processes are killed.
type realMoment struct {
	name string
	// reach begins a turn and brings it there. It returns the message and what
	// lets the turn go on.
	reach func(*harness.RealGateway) (id string, goOn func())
	// answer is the text of the answer. resent says that the message is answered
	// whatever was killed; otherwise its sender may be told that the turn was
	// interrupted.
	answer string
	resent bool
	// asked is how often the model is asked about the message.
	asked int
}

var realMoments = []realMoment{
	{name: "before it begins", reach: beforeItBegins, answer: "late words", resent: true, asked: 1},
	{name: "during text", reach: duringText, answer: "first second", resent: true, asked: 2},
	{name: "during a tool", reach: duringTool, answer: "final after 1 call(s)"},
	{name: "after a tool", reach: afterTool, answer: "final after 1 call(s)"},
	{name: "after the result", reach: afterResult, answer: "first second", resent: true, asked: 1},
}

// beforeItBegins hands the message to a claude that does not read it.
func beforeItBegins(g *harness.RealGateway) (string, func()) {
	claude := g.M.Hosts()["http"].Claude()
	_ = proc.Signal(claude.PID, claude.Start, syscall.SIGSTOP)
	id := g.Tell("http", "echo late words")
	g.M.Eventually("message is handed over", func() bool { return g.Traced(id, "handed") })
	return id, func() { _ = proc.Signal(claude.PID, claude.Start, syscall.SIGCONT) }
}

func duringText(g *harness.RealGateway) (string, func()) {
	id := g.Tell("http", "gate door first second")
	g.M.Await(g.M.Held("door"), "turn runs")
	return id, func() { g.M.Release("door") }
}

func duringTool(g *harness.RealGateway) (string, func()) {
	id := g.Tell("http", "tool:bash "+g.M.Waiting("begun", "go", "done"))
	g.M.Eventually("tool runs", func() bool { return len(g.M.Lines("begun")) == 1 })
	// Claude writes the call down a moment after it runs; killed before that, it is
	// told as interrupted too, but nobody knows by what.
	g.M.Eventually("the call is in the transcript", func() bool { return strings.Contains(g.M.Transcripts(), `"type":"tool_use"`) })
	return id, func() { g.M.Touch("go") }
}

// afterTool lets the tool end and keeps the model from saying anything more.
func afterTool(g *harness.RealGateway) (string, func()) {
	id, goOn := duringTool(g)
	held, open := g.M.Hold()
	goOn()
	g.M.Await(held, "tool's result is sent")
	return id, open
}

// afterResult lets the turn end while the daemon does not listen.
func afterResult(g *harness.RealGateway) (string, func()) {
	id, goOn := duringText(g)
	h := g.LockFile()
	daemon := proc.Process{PID: h.Worker, Start: h.WorkerStart}
	_ = proc.Signal(daemon.PID, daemon.Start, syscall.SIGSTOP)
	goOn()
	g.M.Eventually("answer is in the transcript", func() bool { return strings.Contains(g.M.Transcripts(), `"text":"first second"`) })
	return id, func() { _ = proc.Signal(daemon.PID, daemon.Start, syscall.SIGCONT) }
}

// realVictims are what is killed. A claude whose host dies gets a SIGTERM and
// may yet write down how its tool ended.
var realVictims = map[string]func(g *harness.RealGateway){
	"daemon": func(g *harness.RealGateway) { g.Kill() },
	"claude": func(g *harness.RealGateway) { g.M.Slay(g.M.Hosts()["http"].Claude()) },
	"host": func(g *harness.RealGateway) {
		h := g.M.Hosts()["http"]
		g.M.Slay(h.Host())
		g.M.Gone(h.Claude())
	},
	"all": func(g *harness.RealGateway) { g.Crash("http") },
}

// TestRealKill kills each of the processes at each moment of a turn: the message
// has one outcome, no tool runs twice, and the conversation goes on. Where more than claude dies,
// or something else, the short run takes the two moments that differ for the CLI; the scripted
// claude goes through all.
func TestRealKill(t *testing.T) {
	t.Parallel()
	for victim, kill := range realVictims {
		for _, at := range realMoments {
			if victim != "claude" && at.name != "during text" && at.name != "after a tool" && !harness.Soak() {
				continue
			}
			t.Run(victim+" "+at.name, func(t *testing.T) {
				t.Parallel()
				realKill(t, victim, kill, at)
			})
		}
	}
}

func realKill(t *testing.T, victim string, kill func(*harness.RealGateway), at realMoment) {
	m := harness.NewRealMachine(t)
	g := m.Start()
	before := g.Say("http", "echo before")
	before.Want(t, "before")
	id, goOn := at.reach(g)
	kill(g)
	if victim != "daemon" {
		m.Abandoned()
	}
	goOn()
	if victim == "daemon" || victim == "all" {
		g = m.Start()
	}
	a := g.Outcome(id)
	if at.resent || victim == "daemon" {
		if a.Str("state") != "answered" || a.Flag("is_error") {
			t.Errorf("message is not answered: %s", a.Body)
		}
		g.Mentions(a, at.answer)
	} else {
		g.Failed(a, "failed", "interrupted")
		g.Mentions(a, "Bash (echo begun")
		if at.name == "during a tool" && victim != "host" {
			g.Mentions(a, "not finished")
		}
	}
	most := at.asked
	if victim == "host" {
		most = 2 // its claude may begin a turn before it obeys the SIGTERM
	}
	if n := m.Asked(at.answer); at.asked > 0 && (n < 1 || n > most || victim == "daemon" && n > 1) {
		t.Errorf("the model was asked %d times, want at most %d", n, most)
	}
	after := g.Say("http", "history")
	g.Mentions(after, "echo before", "assistant text: before")
	if after.Str("session_id") != before.Str("session_id") {
		t.Errorf("session is %s, was %s", after.Str("session_id"), before.Str("session_id"))
	}
	if n := len(m.Lines("begun")); n > 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestRealKillBeforeClaudeIsReady(t *testing.T) {
	m, g := harness.StartReal(t)
	id := g.Tell("http", "echo first words")
	session := g.Channel("http").Str("session_id")
	m.Eventually("claude starts", func() bool { return m.Hosts()["http"].ClaudePID != 0 })
	g.Crash("http")
	g = m.Start()
	a := g.Outcome(id)
	a.Want(t, "first words")
	if a.Str("session_id") != session || session == "" {
		t.Errorf("session is %s, was %s", a.Str("session_id"), session)
	}
	if n := m.Asked("first words"); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.Balanced()
}

func TestRealKillInTheFirstTurn(t *testing.T) {
	m, g := harness.StartReal(t)
	id, goOn := duringText(g)
	session := g.Channel("http").Str("session_id")
	g.Crash("http")
	goOn()
	g = m.Start()
	a := g.Outcome(id)
	a.Want(t, "first second")
	if a.Str("session_id") != session || a.JSON["notices"] != nil {
		t.Errorf("session was %s: %s", session, a.Body)
	}
	g.Mentions(g.Say("http", "history"), "assistant text: first second")
	g.Balanced()
}

// TestRealToolThatRanWhileTheModelStillSpoke kills everything when a tool has
// run whose call is not in the transcript yet: claude writes it there only once
// the model's message has ended.
func TestRealToolThatRanWhileTheModelStillSpoke(t *testing.T) {
	m, g := harness.StartReal(t)
	g.Say("http", "echo before").Want(t, "before")
	speak := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := messagesapi.Reply(w, r)
		s.Tool("toolu_call", "Bash", messagesapi.Bash("echo ran >> "+m.Path("ran")))
		s.Text("And so")
		<-r.Context().Done()
	})
	m.Before.Store(&speak)
	id := g.Tell("http", "do it")
	m.Eventually("tool has run", func() bool { return len(m.Lines("ran")) == 1 })
	if strings.Contains(m.Transcripts(), "echo ran") {
		t.Error("the call is in the transcript already: this test tests nothing")
	}
	g.Crash("http")
	m.Before.Store(nil)
	g = m.Start()
	g.Failed(g.Outcome(id), "failed", "interrupted")
	g.Mentions(g.Say("http", "history"), "echo before")
	if n := len(m.Lines("ran")); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	g.Balanced()
}

func TestRealKillWithSteeredMessages(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		t.Run(fmt.Sprintf("folded %v", folded), func(t *testing.T) {
			m, g := harness.StartReal(t)
			first, goOn := duringTool(g)
			second := g.Read("http", "echo steered", "mode", "steer")
			open := func() {}
			if folded {
				var held <-chan struct{}
				held, open = m.Hold()
				goOn()
				m.Await(held, "steered message is sent")
				m.Eventually("it is in the transcript", func() bool { return strings.Contains(m.Transcripts(), "queued_command") })
			}
			g.Crash("http")
			m.Abandoned()
			open()
			g = m.Start()
			g.Failed(g.Outcome(first), "failed", "interrupted")
			if a := g.Outcome(second); folded {
				if a.Str("state") != "failed" || a.Str("code") != "interrupted" || a.Str("into") != first {
					t.Errorf("the message that was folded in does not share the turn's fate: %s", a.Body)
				}
			} else {
				a.Want(t, "steered")
			}
			g.Say("http", "echo works").Want(t, "works")
			if n := len(m.Lines("begun")); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			if n := m.Asked("echo steered"); !folded && n != 1 || folded && n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
			g.Balanced()
		})
	}
}

func TestRealKillOfClaudeThatAsks(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	id := g.Tell("http", "tool:bash touch "+m.Path("made"))
	asked := g.Asked(1)[0]
	m.Slay(m.Hosts()["http"].Claude())
	g.Failed(g.Outcome(id), "failed", "interrupted")
	a := g.Must("POST", "/approvals/"+asked.Str("id"), map[string]any{"behavior": "allow"}, 409)
	if !strings.Contains(string(a.Body), `"state":"void"`) || m.Exists("made") {
		t.Errorf("tool ran: %v; approval: %s", m.Exists("made"), a.Body)
	}
	g.Say("http", "echo works").Want(t, "works")
	g.Balanced()
}
