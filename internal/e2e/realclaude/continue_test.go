package realclaude

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestRealTurnIsContinuedAfterACut kills everything while a tool runs and has the
// turn gone on with: claude hears what happened, in the same conversation and
// under a new uuid, and nothing is run again by itself.
func TestRealTurnIsContinuedAfterACut(t *testing.T) {
	m, g := harness.StartReal(t)
	id, goOn := duringTool(g)
	g.Crash("http")
	goOn()
	g = m.Start()
	g.Failed(g.Outcome(id), "failed", "interrupted")
	asked := g.Asked(1)[0]
	if asked.Str("kind") != "continue" || asked.Str("message_id") != id {
		t.Errorf("what is asked: %v", asked)
	}
	decision := "/approvals/" + asked.Str("id")
	a := g.Outcome(g.Must("POST", decision, harness.Obj{"behavior": "continue"}, 200).Str("retry_id"))
	if a.Str("retry_of") != id || a.Str("state") != "answered" {
		t.Errorf("it is not gone on with: %s", a.Body)
	}
	g.Must("POST", decision, harness.Obj{"behavior": "drop"}, 409)
	same := g.Must("POST", "/messages/"+id+"/retry", nil, 200)
	if same.Str("message_id") != a.Str("message_id") {
		t.Errorf("a second retry is another message: %s", same.Body)
	}
	if m.Asked("cut short before you had answered it. You had begun: Bash (echo begun") == 0 {
		t.Error("claude is not told what happened")
	}
	g.Mentions(g.Say("http", "history"), "assistant tool_use: Bash", "Your work on the message below")
	if n := strings.Count(string(g.Must("GET", "/channels/http/messages", nil, 200).Body), `"retry_of":"`+id+`"`); n != 1 {
		t.Errorf("%d messages are retries of it", n)
	}
	g.Balanced()
}
