package http

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// launchedWith returns the command line of the channel's claude.
func launchedWith(g *harness.Gateway, channel string) string {
	g.T.Helper()
	return g.Say(channel, "args").Str("text")
}

// What a channel is set to is on its claude's command line from the next turn on, also
// when it was set, or the daemon killed, meanwhile; the conversation goes on.
func TestChannelSettings(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_WARM_SPARES=1", "BARECLAW_MODEL=opus", "BARECLAW_APPROVALS=ask")
	g := m.Start()
	spare := g.SpareReady(1)[0]
	a := g.Must("PATCH", "/channels/desk", harness.Obj{"model": "haiku", "permission_mode": "plan"}, 200)
	if a.Str("model") != "haiku" || a.Str("permission_mode") != "plan" || a.Str("state") != "idle" {
		t.Errorf("channel is %s", a.Body)
	}
	first := g.Say("desk", "echo one")
	first.Want(t, "one")
	if claudeOf(g, "desk") == spare.ClaudePID {
		t.Error("the claude that waited was started without the settings")
	}
	if args := launchedWith(g, "desk"); !strings.Contains(args, `"--model","haiku","--permission-mode","plan"`) {
		t.Errorf("claude was started with %s", args)
	}
	id, finish := g.Occupy("desk")
	g.Must("PATCH", "/channels/desk", harness.Obj{"model": "sonnet", "permission_mode": ""}, 200)
	waiting := g.Tell("desk", "tool 0 ask touch")
	g.Kill()
	g = m.Start()
	finish()
	g.Outcome(id)
	g.Must("POST", "/approvals/"+permission(g, "desk"), harness.Obj{"behavior": "allow", "always": true}, 200)
	g.Outcome(waiting).Want(t, "final: ran: ask touch")
	g.Kill()
	g = m.Start()
	args := launchedWith(g, "desk")
	if !strings.Contains(args, `"--model","sonnet","--permission-mode","default"`) || !strings.Contains(args, `{\"permissions\":{\"allow\":[\"`) {
		t.Errorf("claude was started with %s", args)
	}
	last := g.Say("desk", "session")
	if last.Str("text") != first.Str("session_id") {
		t.Errorf("the conversation went from %s to %s", first.Str("session_id"), last.Str("text"))
	}
	if g.Channel("desk").Number("rules") != 1 {
		t.Errorf("channel is %s", g.Channel("desk").Body)
	}
	g.Balanced()
}
