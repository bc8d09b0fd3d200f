package e2e

import (
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
)

// asked waits until n tool permissions wait for an answer.
func (g *gateway) asked(n int) []answer {
	g.t.Helper()
	var list []answer
	g.eventually("approvals wait", func() bool {
		list = g.must("GET", "/approvals", nil, 200).array("approvals")
		return len(list) == n
	})
	return list
}

func TestApprovalIsDeniedWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	a := g.say("http", "tool 0 ask rm")
	for _, part := range []string{"denied", "Bash", "BARECLAW_ALLOWED_TOOLS", "BARECLAW_APPROVALS=ask"} {
		if !strings.Contains(a.str("text"), part) {
			t.Errorf("%q is not in the answer %s", part, a.body)
		}
	}
	if m.did("tool", "rm") {
		t.Error("the tool ran")
	}
	g.asked(0)
	g.balanced()
}

func TestApprovalDecisions(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		decision obj
		state    string
		text     string
		tool     string // what ran
	}{
		"allow":   {obj{"behavior": "allow"}, "allowed", "final: ran: ask touch", "ask touch"},
		"changed": {obj{"behavior": "allow", "updated_input": obj{"command": "ls"}}, "allowed", "final: ran: ls", "ls"},
		"deny":    {obj{"behavior": "deny", "message": "not today"}, "denied", "final: not today", ""},
		"no word": {obj{"behavior": "deny"}, "denied", "final: The user denied permission for Bash.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_APPROVALS=ask")
			g := m.start()
			s := g.stream("GET", "/channels/http/events", nil)
			message := g.hold(obj{"text": "tool 0 ask touch"})
			shown := s.want("approval")
			p := g.asked(1)[0]
			input, _ := p.json["input"].(map[string]any)
			if p.str("state") != "pending" || p.str("tool") != "Bash" || input["command"] != "ask touch" || p.str("channel") != "http" ||
				p.str("expires_at") == "" || p.str("id") != shown.str("id") {
				t.Errorf("approval is %s, shown as %s", p.body, shown.body)
			}
			if st := g.channel("http"); st.number("approvals") != 1 || st.str("turn_id") != p.str("turn_id") {
				t.Errorf("channel is %s", st.body)
			}
			if message.answered() {
				t.Error("turn went on without an answer")
			}
			decided := g.must("POST", "/approvals/"+p.str("id"), row.decision, 200)
			if decided.str("state") != row.state || decided.str("decided_at") == "" {
				t.Errorf("decided approval is %s", decided.body)
			}
			if c := s.want("approval_closed"); c.str("id") != p.str("id") || c.str("state") != row.state {
				t.Errorf("closing event is %s", c.body)
			}
			a := message.answer(200)
			a.want(t, row.text)
			if a.str("message_id") != p.str("message_id") {
				t.Errorf("approval belongs to %s, message is %s", p.str("message_id"), a.str("message_id"))
			}
			if row.tool == "" && m.did("tool", "") || row.tool != "" && !m.did("tool", row.tool) {
				t.Errorf("tool that ran: %v, want %q", m.journal(), row.tool)
			}
			again := g.must("POST", "/approvals/"+p.str("id"), obj{"behavior": "allow"})
			again.refused(t, "second decision", 409, "not_pending")
			if truth, _ := again.json["approval"].(map[string]any); truth["state"] != row.state {
				t.Errorf("second decision is told %s", again.body)
			}
			g.asked(0)
			g.balanced()
		})
	}
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_APPROVAL_TIMEOUT=1s")
	g := m.start()
	s := g.stream("GET", "/channels/http/events", nil) // the list may be asked for too late
	message := g.hold(obj{"text": "tool 0 ask touch"})
	id := s.want("approval").str("id")
	a := message.answer(200)
	if !strings.Contains(a.str("text"), "Nobody answered") || !strings.Contains(a.str("text"), "1s") {
		t.Errorf("answer is %s", a.body)
	}
	again := g.must("POST", "/approvals/"+id, obj{"behavior": "allow"})
	again.refused(t, "decision after the time", 409, "not_pending")
	if truth, _ := again.json["approval"].(map[string]any); truth["state"] != "expired" {
		t.Errorf("late decision is told %s", again.body)
	}
	if m.did("tool", "") {
		t.Error("the tool ran")
	}
	g.balanced()
}

func TestApprovalSurvivesKillOfTheDaemon(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tool 0 ask touch")
	before := g.asked(1)[0]
	g.kill()
	g = m.start()
	after := g.asked(1)[0]
	if string(after.body) != string(before.body) {
		t.Errorf("approval was %s and is %s", before.body, after.body)
	}
	g.must("POST", "/approvals/"+after.str("id"), obj{"behavior": "allow"}, 200)
	g.outcome(id).want(t, "final: ran: ask touch")
	if n := m.begun("touch"); n != 1 {
		t.Errorf("begun %d times, want once", n)
	}
	trace := g.must("GET", "/messages/"+id+"/trace", nil, 200)
	if list := trace.array("approvals"); len(list) != 1 || list[0].str("state") != "allowed" {
		t.Errorf("trace is %s", trace.body)
	}
	shown := m.command(exitcode.OK, "trace", id).shows("approval allowed").out.String()
	if n := strings.Count(shown, "approval"); n != 1 {
		t.Errorf("the trace has %d lines of one approval:\n%s", n, shown)
	}
	g.balanced()
}

func TestApprovalIsDecidedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tool 0 ask touch")
	approval := g.asked(1)[0].str("id")
	const people = 8
	answers := make([]answer, people)
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			var err error
			if answers[i], err = g.do("POST", "/approvals/"+approval, obj{"behavior": "deny", "message": "by " + strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	reason := strings.TrimPrefix(g.outcome(id).str("text"), "final: ")
	won := 0
	for i, a := range answers {
		if a.status == 200 {
			won++
			if by := "by " + strconv.Itoa(i); a.str("reason") != by || reason != by {
				t.Errorf("claude was told %q, this decision was %s", reason, a.body)
			}
			continue
		}
		a.refused(t, "further decision", 409, "not_pending")
		if truth, _ := a.json["approval"].(map[string]any); truth["state"] != "denied" || truth["reason"] != reason {
			t.Errorf("claude was told %q, a further decision %s", reason, a.body)
		}
	}
	if won != 1 {
		t.Errorf("%d decisions won, want 1", won)
	}
	g.balanced()
}

func TestApprovalIsVoidWhenItsTurnEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end   func(g *gateway)
		state string
	}{
		"interrupted": {func(g *gateway) { g.interrupt("http", 200) }, "cancelled"},
		"killed": {func(g *gateway) {
			h := g.hosts()["http"]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				g.t.Fatal(err)
			}
		}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_APPROVALS=ask")
			g := m.start()
			id := g.tell("http", "tool 0 ask touch")
			approval := g.asked(1)[0].str("id")
			row.end(g)
			a := g.outcome(id)
			if a.str("state") != row.state || a.code() != "interrupted" {
				t.Errorf("outcome is %s", a.body)
			}
			if name == "killed" { // in its work: it can be continued
				if a := g.asked(1)[0]; a.str("kind") != "continue" {
					t.Errorf("what is asked: %s", a.body)
				}
			} else {
				g.asked(0)
			}
			late := g.must("POST", "/approvals/"+approval, obj{"behavior": "allow"})
			late.refused(t, "late decision", 409, "not_pending")
			if truth, _ := late.json["approval"].(map[string]any); truth["state"] != "void" {
				t.Errorf("late decision is told %s", late.body)
			}
			g.say("http", "echo works").want(t, "works")
			if m.did("tool", "") || m.begun("touch") != 1 {
				t.Errorf("the tool ran: %v", m.journal())
			}
			g.balanced()
		})
	}
}

func TestClaudeCannotApproveForItself(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	id := g.tell("http", "tool 0 ask touch")
	approval := g.asked(1)[0].str("id")
	local := g.overSocket()
	if n := len(local.must("GET", "/approvals", nil, 200).array("approvals")); n != 1 {
		t.Errorf("%d approvals are shown on the socket, want 1", n)
	}
	local.must("POST", "/approvals/"+approval, obj{"behavior": "allow"}).refused(t, "decision on the socket", 403, "not_on_socket")
	g.asked(1)
	g.must("POST", "/approvals/"+approval, obj{"behavior": "deny", "message": "no"}, 200)
	g.outcome(id).want(t, "final: no")
	g.balanced()
}
