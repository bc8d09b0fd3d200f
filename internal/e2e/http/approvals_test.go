package http

import (
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
)

func TestApprovalIsDeniedWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	a := g.Say("http", "tool 0 ask rm")
	for _, part := range []string{"denied", "Bash", "BARECLAW_ALLOWED_TOOLS", "BARECLAW_APPROVALS=ask"} {
		if !strings.Contains(a.Str("text"), part) {
			t.Errorf("%q is not in the answer %s", part, a.Body)
		}
	}
	if m.Did("tool", "rm") {
		t.Error("the tool ran")
	}
	g.Asked(0)
	g.Balanced()
}

func TestApprovalDecisions(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		decision harness.Obj
		state    string
		text     string
		tool     string // what ran
	}{
		"allow":   {harness.Obj{"behavior": "allow"}, "allowed", "final: ran: ask touch", "ask touch"},
		"changed": {harness.Obj{"behavior": "allow", "updated_input": harness.Obj{"command": "ls"}}, "allowed", "final: ran: ls", "ls"},
		"deny":    {harness.Obj{"behavior": "deny", "message": "not today"}, "denied", "final: not today", ""},
		"no word": {harness.Obj{"behavior": "deny"}, "denied", "final: The user denied permission for Bash.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
			g := m.Start()
			s := g.Stream("GET", "/channels/http/events", nil)
			message := g.Hold(harness.Obj{"text": "tool 0 ask touch"})
			shown := s.Want("approval")
			p := g.Asked(1)[0]
			input, _ := p.JSON["input"].(map[string]any)
			if p.Str("state") != "pending" || p.Str("tool") != "Bash" || input["command"] != "ask touch" || p.Str("channel") != "http" ||
				p.Str("expires_at") == "" || p.Str("id") != shown.Str("id") {
				t.Errorf("approval is %s, shown as %s", p.Body, shown.Body)
			}
			if st := g.Channel("http"); st.Number("approvals") != 1 || st.Str("turn_id") != p.Str("turn_id") {
				t.Errorf("channel is %s", st.Body)
			}
			if message.Answered() {
				t.Error("turn went on without an answer")
			}
			decided := g.Must("POST", "/approvals/"+p.Str("id"), row.decision, 200)
			if decided.Str("state") != row.state || decided.Str("decided_at") == "" {
				t.Errorf("decided approval is %s", decided.Body)
			}
			if c := s.Want("approval_closed"); c.Str("id") != p.Str("id") || c.Str("state") != row.state {
				t.Errorf("closing event is %s", c.Body)
			}
			a := message.Answer(200)
			a.Want(t, row.text)
			if a.Str("message_id") != p.Str("message_id") {
				t.Errorf("approval belongs to %s, message is %s", p.Str("message_id"), a.Str("message_id"))
			}
			if row.tool == "" && m.Did("tool", "") || row.tool != "" && !m.Did("tool", row.tool) {
				t.Errorf("tool that ran: %v, want %q", m.Journal(), row.tool)
			}
			again := g.Must("POST", "/approvals/"+p.Str("id"), harness.Obj{"behavior": "allow"})
			again.Refused(t, "second decision", 409, "not_pending")
			if truth, _ := again.JSON["approval"].(map[string]any); truth["state"] != row.state {
				t.Errorf("second decision is told %s", again.Body)
			}
			g.Asked(0)
			g.Balanced()
		})
	}
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_APPROVAL_TIMEOUT=1s")
	g := m.Start()
	s := g.Stream("GET", "/channels/http/events", nil) // the list may be asked for too late
	message := g.Hold(harness.Obj{"text": "tool 0 ask touch"})
	id := s.Want("approval").Str("id")
	a := message.Answer(200)
	if !strings.Contains(a.Str("text"), "Nobody answered") || !strings.Contains(a.Str("text"), "1s") {
		t.Errorf("answer is %s", a.Body)
	}
	again := g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"})
	again.Refused(t, "decision after the time", 409, "not_pending")
	if truth, _ := again.JSON["approval"].(map[string]any); truth["state"] != "expired" {
		t.Errorf("late decision is told %s", again.Body)
	}
	if m.Did("tool", "") {
		t.Error("the tool ran")
	}
	g.Balanced()
}

func TestApprovalSurvivesKillOfTheDaemon(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.Start()
	id := g.Tell("http", "tool 0 ask touch")
	before := g.Asked(1)[0]
	g.Kill()
	g = m.Start()
	after := g.Asked(1)[0]
	if string(after.Body) != string(before.Body) {
		t.Errorf("approval was %s and is %s", before.Body, after.Body)
	}
	g.Must("POST", "/approvals/"+after.Str("id"), harness.Obj{"behavior": "allow"}, 200)
	g.Outcome(id).Want(t, "final: ran: ask touch")
	if n := m.Begun("touch"); n != 1 {
		t.Errorf("begun %d times, want once", n)
	}
	trace := g.Must("GET", "/messages/"+id+"/trace", nil, 200)
	if list := trace.Array("approvals"); len(list) != 1 || list[0].Str("state") != "allowed" {
		t.Errorf("trace is %s", trace.Body)
	}
	shown := m.Command(exitcode.OK, "trace", id).Shows("approval allowed").Out.String()
	if n := strings.Count(shown, "approval"); n != 1 {
		t.Errorf("the trace has %d lines of one approval:\n%s", n, shown)
	}
	g.Balanced()
}

func TestApprovalIsDecidedOnce(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.Start()
	id := g.Tell("http", "tool 0 ask touch")
	approval := g.Asked(1)[0].Str("id")
	const people = 8
	answers := make([]harness.Answer, people)
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			var err error
			if answers[i], err = g.Do("POST", "/approvals/"+approval, harness.Obj{"behavior": "deny", "message": "by " + strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	reason := strings.TrimPrefix(g.Outcome(id).Str("text"), "final: ")
	won := 0
	for i, a := range answers {
		if a.Status == 200 {
			won++
			if by := "by " + strconv.Itoa(i); a.Str("reason") != by || reason != by {
				t.Errorf("claude was told %q, this decision was %s", reason, a.Body)
			}
			continue
		}
		a.Refused(t, "further decision", 409, "not_pending")
		if truth, _ := a.JSON["approval"].(map[string]any); truth["state"] != "denied" || truth["reason"] != reason {
			t.Errorf("claude was told %q, a further decision %s", reason, a.Body)
		}
	}
	if won != 1 {
		t.Errorf("%d decisions won, want 1", won)
	}
	g.Balanced()
}

func TestApprovalIsVoidWhenItsTurnEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end   func(g *harness.Gateway)
		state string
	}{
		"interrupted": {func(g *harness.Gateway) { interrupt(g, "http", 200) }, "cancelled"},
		"killed": {func(g *harness.Gateway) {
			h := g.Hosts()["http"]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				g.T.Fatal(err)
			}
		}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
			g := m.Start()
			id := g.Tell("http", "tool 0 ask touch")
			approval := g.Asked(1)[0].Str("id")
			row.end(g)
			a := g.Outcome(id)
			if a.Str("state") != row.state || a.Code() != "interrupted" {
				t.Errorf("outcome is %s", a.Body)
			}
			if name == "killed" { // in its work: it can be continued
				if a := g.Asked(1)[0]; a.Str("kind") != "continue" {
					t.Errorf("what is asked: %s", a.Body)
				}
			} else {
				g.Asked(0)
			}
			late := g.Must("POST", "/approvals/"+approval, harness.Obj{"behavior": "allow"})
			late.Refused(t, "late decision", 409, "not_pending")
			if truth, _ := late.JSON["approval"].(map[string]any); truth["state"] != "void" {
				t.Errorf("late decision is told %s", late.Body)
			}
			g.Say("http", "echo works").Want(t, "works")
			if m.Did("tool", "") || m.Begun("touch") != 1 {
				t.Errorf("the tool ran: %v", m.Journal())
			}
			g.Balanced()
		})
	}
}

func TestClaudeCannotApproveForItself(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.Start()
	id := g.Tell("http", "tool 0 ask touch")
	approval := g.Asked(1)[0].Str("id")
	local := g.OverSocket()
	if n := len(local.Must("GET", "/approvals", nil, 200).Array("approvals")); n != 1 {
		t.Errorf("%d approvals are shown on the socket, want 1", n)
	}
	local.Must("POST", "/approvals/"+approval, harness.Obj{"behavior": "allow"}).Refused(t, "decision on the socket", 403, "not_on_socket")
	g.Asked(1)
	g.Must("POST", "/approvals/"+approval, harness.Obj{"behavior": "deny", "message": "no"}, 200)
	g.Outcome(id).Want(t, "final: no")
	g.Balanced()
}
