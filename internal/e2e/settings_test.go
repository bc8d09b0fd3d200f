package e2e

import (
	"strings"
	"testing"
)

// launchedWith returns the command line of the channel's claude.
func (g *gateway) launchedWith(channel string) string {
	g.t.Helper()
	return g.say(channel, "args").str("text")
}

// What a channel is set to is on its claude's command line from the next turn on, also
// when it was set, or the daemon killed, meanwhile; the conversation goes on.
func TestChannelSettings(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1", "BARECLAW_MODEL=opus", "BARECLAW_APPROVALS=ask")
	g := m.start()
	spare := g.spareReady(1)[0]
	a := g.must("PATCH", "/channels/desk", obj{"model": "haiku", "permission_mode": "plan"}, 200)
	if a.str("model") != "haiku" || a.str("permission_mode") != "plan" || a.str("state") != "idle" {
		t.Errorf("channel is %s", a.body)
	}
	first := g.say("desk", "echo one")
	first.want(t, "one")
	if g.claudeOf("desk") == spare.ClaudePID {
		t.Error("the claude that waited was started without the settings")
	}
	if args := g.launchedWith("desk"); !strings.Contains(args, `"--model","haiku","--permission-mode","plan"`) {
		t.Errorf("claude was started with %s", args)
	}
	id, finish := g.occupy("desk")
	g.must("PATCH", "/channels/desk", obj{"model": "sonnet", "permission_mode": ""}, 200)
	waiting := g.tell("desk", "tool 0 ask touch")
	g.kill()
	g = m.start()
	finish()
	g.outcome(id)
	g.must("POST", "/approvals/"+g.permission("desk"), obj{"behavior": "allow", "always": true}, 200)
	g.outcome(waiting).want(t, "final: ran: ask touch")
	g.kill()
	g = m.start()
	args := g.launchedWith("desk")
	if !strings.Contains(args, `"--model","sonnet","--permission-mode","default"`) || !strings.Contains(args, `{\"permissions\":{\"allow\":[\"`) {
		t.Errorf("claude was started with %s", args)
	}
	last := g.say("desk", "session")
	if last.str("text") != first.str("session_id") {
		t.Errorf("the conversation went from %s to %s", first.str("session_id"), last.str("text"))
	}
	if g.channel("desk").number("rules") != 1 {
		t.Errorf("channel is %s", g.channel("desk").body)
	}
	g.balanced()
}
