package security

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// calls is a message that has the scripted claude call a tool of the gateway.
func calls(t *testing.T, tool string, args harness.Obj) string {
	t.Helper()
	b, err := json.Marshal(args)
	check.OK(t, err)
	return "mcp - " + tool + " " + string(b)
}

// TestModesOfChannels has a channel with the mode plan reach for one with bypassPermissions by each
// tool of the gateway: it is refused, with both modes in the reason. A channel with equal rights may.
func TestModesOfChannels(t *testing.T) {
	_, g := harness.Started(t)
	for channel, mode := range map[string]string{"plans": "plan", "boss": "bypassPermissions", "partner": "bypassPermissions"} {
		g.Must("PATCH", "/channels/"+channel, harness.Obj{"permission_mode": mode}, 200)
	}
	told := g.Say("boss", "echo the boss's secret").Str("message_id")
	scheduled := g.Must("POST", "/schedules", harness.Obj{"channel": "boss", "text": "the boss's plan", "when": "in 3h"}, 201).Str("id")
	made := harness.Obj{"name": "made", "description": "d", "schema": harness.Obj{"type": "object"}, "code": "return 'made';"}
	send := harness.Obj{"channel": "boss", "text": "echo done"}
	const none, refused = "", "is refused: "
	for _, c := range []struct {
		tool string
		args harness.Obj
		// What the channel with the mode plan is told, and the other one. None: any result but a
		// refusal.
		plans, partner string
	}{
		{"channel_send", send, `your channel has the permission mode plan, and channel "boss" has bypassPermissions`, `"reply":"done"`},
		{"push_send", harness.Obj{"channel": "boss", "text": "x"}, refused, "no adapter for people"},
		{"schedule_create", harness.Obj{"channel": "boss", "text": "echo x", "when": "in 3h"}, refused, `"channel":"boss"`},
		{"schedule_create", harness.Obj{"text": "echo x", "when": "in 3h"}, `"channel":"plans"`, `"channel":"partner"`},
		{"schedule_delete", harness.Obj{"id": scheduled}, refused, `"status":"deleted"`},
		{"message_trace", harness.Obj{"id": told}, `is of channel "boss"`, `is of channel "boss"`},
		{"dynamic_tool_create", made, "it concerns all channels", none},
		{"tool_call", harness.Obj{"name": "dynamic_tool_create", "args": made}, "by its own name only", "by its own name only"},
		{"worker_snapshot", harness.Obj{"name": "mine"}, refused, none},
		{"worker_rollback", harness.Obj{}, refused, none},
		{"worker_restart", harness.Obj{}, refused, none},
		{"dynamic_tool_delete", harness.Obj{"name": "json_format"}, refused, none},
		{"tool_call", harness.Obj{"name": "hello_world", "args": harness.Obj{"name": "you"}}, "Hello, you!", "Hello, you!"},
		{"channel_list", nil, `"channel":"boss"`, `"channel":"boss"`},
	} {
		for _, on := range [][2]string{{"plans", c.plans}, {"partner", c.partner}} {
			channel, want := on[0], on[1]
			text := g.Say(channel, calls(t, c.tool, c.args)).Str("text")
			if !strings.Contains(text, want) || want == none && (strings.Contains(text, refused) || strings.Contains(text, "No such tool")) {
				t.Errorf("%s on %s %v: %q, want %q", c.tool, channel, c.args, text, want)
			}
			if channel == "plans" && strings.Contains(text, "secret") {
				t.Errorf("%s shows what another channel was told: %q", c.tool, text)
			}
		}
	}
	list := g.Say("plans", calls(t, "schedule_list", nil)).Str("text")
	if strings.Contains(list, `"channel":"partner","text"`) || !strings.Contains(list, `"channel":"plans","text":"echo x"`) || !strings.Contains(list, `"channel":"boss"`) {
		t.Errorf("the schedules are shown as %s", list)
	}
	sent := g.Say("partner", calls(t, "channel_send", harness.Obj{"channel": "plans", "text": "echo well", "wait_s": 60})).Str("text")
	_, id, _ := strings.Cut(sent, `"message_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if text := g.Say("partner", calls(t, "message_trace", harness.Obj{"id": id})).Str("text"); !strings.Contains(text, `"reply":"well"`) {
		t.Errorf("the sender sees %q of what it has sent: %q", text, sent)
	}
	g.Must("PATCH", "/channels/plans", harness.Obj{"permission_mode": "bypassPermissions"}, 200)
	if text := g.Say("plans", calls(t, "channel_send", send)).Str("text"); !strings.Contains(text, `"reply":"done"`) {
		t.Errorf("with the mode of the other channel: %q", text)
	}
	g.Balanced()
}
