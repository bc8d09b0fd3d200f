package e2e

import (
	"strings"
	"testing"
)

// TestRealTurnIsContinuedAfterACut kills everything while a tool runs and has the
// turn gone on with: claude hears what happened, in the same conversation and
// under a new uuid, and nothing is run again by itself.
func TestRealTurnIsContinuedAfterACut(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"approval", "retry"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			m := newRealMachine(t)
			g := m.start()
			id, goOn := duringTool(g)
			g.crash("http")
			goOn()
			g = m.start()
			g.failed(g.outcome(id), "failed", "interrupted")
			asked := g.pending()
			if asked["kind"] != "continue" || asked["message_id"] != id {
				t.Errorf("what is asked: %v", asked)
			}
			decision := "/approvals/" + asked["id"].(string)
			var a answer
			if way == "approval" {
				a = g.outcome(g.must("POST", decision, obj{"behavior": "continue"}, 200).str("retry_id"))
			} else {
				a = g.must("POST", "/messages/"+id+"/retry", nil, 200)
			}
			if a.str("retry_of") != id || a.str("state") != "answered" {
				t.Errorf("it is not gone on with: %s", a.body)
			}
			g.must("POST", decision, obj{"behavior": "drop"}, 409)
			same := g.must("POST", "/messages/"+id+"/retry", nil, 200)
			if same.str("message_id") != a.str("message_id") {
				t.Errorf("a second retry is another message: %s", same.body)
			}
			if m.asked("cut short before you had answered it. You had begun: Bash (echo begun") == 0 {
				t.Error("claude is not told what happened")
			}
			g.mentions(g.say("http", "history"), "assistant tool_use: Bash", "Your work on the message below")
			if n := strings.Count(string(g.must("GET", "/channels/http/messages", nil, 200).body), `"retry_of":"`+id+`"`); n != 1 {
				t.Errorf("%d messages are retries of it", n)
			}
			g.balanced()
		})
	}
}
