package http

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

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
