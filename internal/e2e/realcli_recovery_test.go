package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// A realMoment is a point of a turn's life at which processes are killed.
type realMoment struct {
	name string
	// reach begins a turn and brings it there. It returns the message and what
	// lets the turn go on.
	reach func(*realGateway) (id string, goOn func())
	// answer is what the message is answered with if it is answered, and resent
	// that it is so whatever was killed. Otherwise its sender is told that the
	// turn was interrupted.
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
func beforeItBegins(g *realGateway) (string, func()) {
	claude := g.m.hosts()["http"].claude()
	g.m.send(claude, syscall.SIGSTOP)
	id := g.tell("http", "echo late words")
	g.m.eventually("message is handed over", func() bool { return g.traced(id, "handed") })
	return id, func() { g.m.send(claude, syscall.SIGCONT) }
}

func duringText(g *realGateway) (string, func()) {
	id := g.tell("http", "gate door first second")
	g.m.await(g.m.Held("door"), "turn runs")
	return id, func() { g.m.Release("door") }
}

func duringTool(g *realGateway) (string, func()) {
	id := g.tell("http", "tool:bash "+g.m.waiting("begun", "go", "done"))
	g.m.eventually("tool runs", func() bool { return len(g.m.lines("begun")) == 1 })
	// Claude writes the call down a moment after it runs; killed before that, it is
	// told as interrupted too, but nobody knows by what.
	g.m.eventually("the call is in the transcript", func() bool { return strings.Contains(g.m.transcripts(), `"type":"tool_use"`) })
	return id, func() { g.m.touch("go") }
}

// afterTool lets the tool end and keeps the model from saying anything more.
func afterTool(g *realGateway) (string, func()) {
	id, goOn := duringTool(g)
	held, open := g.m.hold()
	goOn()
	g.m.await(held, "tool's result is sent")
	return id, open
}

// afterResult lets the turn end while the daemon does not listen.
func afterResult(g *realGateway) (string, func()) {
	id, goOn := duringText(g)
	pid := g.cmd.Process.Pid
	start, err := proc.StartTime(pid)
	if err != nil {
		g.t.Fatal(err)
	}
	daemon := proc.Process{PID: pid, Start: start}
	g.m.send(daemon, syscall.SIGSTOP)
	goOn()
	g.m.eventually("answer is in the transcript", func() bool { return strings.Contains(g.m.transcripts(), `"text":"first second"`) })
	return id, func() { g.m.send(daemon, syscall.SIGCONT) }
}

// transcripts returns all that claude has written about its sessions.
func (m *realMachine) transcripts() string {
	var all strings.Builder
	for _, f := range m.glob("home/claude-config/projects/*/*.jsonl") {
		b, err := os.ReadFile(f)
		if err != nil {
			m.t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// traced reports whether the message's timeline has the mark.
func (g *realGateway) traced(id, what string) bool {
	g.t.Helper()
	return strings.Contains(string(g.must("GET", "/messages/"+id+"/trace", nil, 200).body), `"what":"`+what+`"`)
}

// realVictims are what is killed. A claude whose host dies gets a SIGTERM and
// may yet write down how its tool ended.
var realVictims = map[string]func(g *realGateway){
	"daemon": func(g *realGateway) { g.kill() },
	"claude": func(g *realGateway) { g.m.slay(g.m.hosts()["http"].claude()) },
	"host": func(g *realGateway) {
		h := g.m.hosts()["http"]
		g.m.slay(h.host())
		g.m.gone(h.claude())
	},
	"all": func(g *realGateway) { g.crash("http") },
}

// TestRealKill kills each of the processes at each moment of a turn: the message
// has one outcome, no tool runs twice, and the conversation goes on.
func TestRealKill(t *testing.T) {
	t.Parallel()
	for victim, kill := range realVictims {
		for _, at := range realMoments {
			t.Run(victim+" "+at.name, func(t *testing.T) {
				t.Parallel()
				realKill(t, victim, kill, at)
			})
		}
	}
}

func realKill(t *testing.T, victim string, kill func(*realGateway), at realMoment) {
	m := newRealMachine(t)
	g := m.start()
	before := g.say("http", "echo before")
	before.want(t, "before")
	id, goOn := at.reach(g)
	kill(g)
	if victim != "daemon" {
		m.abandoned()
	}
	goOn()
	if victim == "daemon" || victim == "all" {
		g = m.start()
	}
	a := g.outcome(id)
	if at.resent || victim == "daemon" {
		if a.str("state") != "answered" || a.flag("is_error") {
			t.Errorf("message is not answered: %s", a.body)
		}
		g.mentions(a, at.answer)
	} else {
		g.failed(a, "failed", "interrupted")
		g.mentions(a, "Bash (echo begun")
		if at.name == "during a tool" && victim != "host" {
			g.mentions(a, "not finished")
		}
	}
	most := at.asked
	if victim == "host" {
		most = 2 // its claude may begin a turn before it obeys the SIGTERM
	}
	if n := m.asked(at.answer); at.asked > 0 && (n < 1 || n > most || victim == "daemon" && n > 1) {
		t.Errorf("the model was asked %d times, want at most %d", n, most)
	}
	after := g.say("http", "history")
	g.mentions(after, "echo before", "assistant text: before")
	if after.str("session_id") != before.str("session_id") {
		t.Errorf("session is %s, was %s", after.str("session_id"), before.str("session_id"))
	}
	if n := len(m.lines("begun")); n > 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}

func TestRealKillBeforeClaudeIsReady(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	id := g.tell("http", "echo first words")
	session := g.channel("http").str("session_id")
	m.eventually("claude starts", func() bool { return m.hosts()["http"].ClaudePID != 0 })
	g.crash("http")
	g = m.start()
	a := g.outcome(id)
	a.want(t, "first words")
	if a.str("session_id") != session || session == "" {
		t.Errorf("session is %s, was %s", a.str("session_id"), session)
	}
	if n := m.asked("first words"); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.balanced()
}

func TestRealKillInTheFirstTurn(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	id, goOn := duringText(g)
	session := g.channel("http").str("session_id")
	g.crash("http")
	goOn()
	g = m.start()
	a := g.outcome(id)
	a.want(t, "first second")
	if a.str("session_id") != session || a.json["notices"] != nil {
		t.Errorf("session was %s: %s", session, a.body)
	}
	g.mentions(g.say("http", "history"), "assistant text: first second")
	g.balanced()
}

func TestRealSessionThatClaudeDoesNotKnowAnyMore(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	before := g.say("http", "echo before")
	g.end("http")
	if err := os.RemoveAll(m.path("home/claude-config/projects")); err != nil {
		t.Fatal(err)
	}
	g = m.start()
	a := g.say("http", "echo after")
	a.want(t, "after")
	if notices := fmt.Sprint(a.json["notices"]); !strings.Contains(notices, "fresh_session") || a.str("session_id") == before.str("session_id") {
		t.Errorf("notices are %s, session %s, was %s", notices, a.str("session_id"), before.str("session_id"))
	}
	if b := g.say("http", "echo again"); b.json["notices"] != nil || b.str("session_id") != a.str("session_id") {
		t.Errorf("the fresh session is told twice, or is not kept: %s", b.body)
	}
	g.balanced()
}

// TestRealToolThatRanWhileTheModelStillSpoke kills everything when a tool has
// run whose call is not in the transcript yet: claude writes it there only once
// the model's message has ended.
func TestRealToolThatRanWhileTheModelStillSpoke(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	g.say("http", "echo before").want(t, "before")
	speak := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		realToolCall(w, "echo ran >> "+m.path("ran"), false)
		<-r.Context().Done()
	})
	m.before.Store(&speak)
	id := g.tell("http", "do it")
	m.eventually("tool has run", func() bool { return len(m.lines("ran")) == 1 })
	if strings.Contains(m.transcripts(), "echo ran") {
		t.Error("the call is in the transcript already: this test tests nothing")
	}
	g.crash("http")
	m.before.Store(nil)
	g = m.start()
	g.failed(g.outcome(id), "failed", "interrupted")
	g.mentions(g.say("http", "history"), "echo before")
	if n := len(m.lines("ran")); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	g.balanced()
}

func TestRealKillWithSteeredMessages(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{false, true} {
		t.Run(fmt.Sprintf("folded %v", folded), func(t *testing.T) {
			t.Parallel()
			m := newRealMachine(t)
			g := m.start()
			first, goOn := duringTool(g)
			second := g.steer("http", "echo steered")
			open := func() {}
			if folded {
				var held <-chan struct{}
				held, open = m.hold()
				goOn()
				m.await(held, "steered message is sent")
				m.eventually("it is in the transcript", func() bool { return strings.Contains(m.transcripts(), "queued_command") })
			}
			g.crash("http")
			m.abandoned()
			open()
			g = m.start()
			g.failed(g.outcome(first), "failed", "interrupted")
			if a := g.outcome(second); folded {
				if a.str("state") != "failed" || a.str("code") != "interrupted" || a.str("into") != first {
					t.Errorf("the message that was folded in does not share the turn's fate: %s", a.body)
				}
			} else {
				a.want(t, "steered")
			}
			g.say("http", "echo works").want(t, "works")
			if n := len(m.lines("begun")); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			if n := m.asked("echo steered"); !folded && n != 1 || folded && n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
			g.balanced()
		})
	}
}

func TestRealKillOfClaudeThatAsks(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_ALLOWED_TOOLS=Read", "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tool:bash touch "+m.path("made"))
	asked := g.pending()
	m.slay(m.hosts()["http"].claude())
	g.failed(g.outcome(id), "failed", "interrupted")
	a := g.must("POST", "/approvals/"+asked["id"].(string), map[string]any{"behavior": "allow"}, 409)
	if !strings.Contains(string(a.body), `"state":"void"`) || m.exists("made") {
		t.Errorf("tool ran: %v; approval: %s", m.exists("made"), a.body)
	}
	g.say("http", "echo works").want(t, "works")
	g.balanced()
}

func TestRealClearedSessionIsResumed(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	g := m.start()
	g.say("http", "echo secret").want(t, "secret")
	cleared := g.say("http", "/clear")
	g.end("http")
	g = m.start()
	a := g.say("http", "history")
	if strings.Contains(a.str("text"), "secret") || a.flag("is_error") || a.str("session_id") != cleared.str("session_id") {
		t.Errorf("after /clear and a new start: %s", a.body)
	}
	g.balanced()
}
