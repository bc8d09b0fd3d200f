package tools

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestToolsOfAChannel gives a channel tools of its own: its claude is offered these, finds these and
// may call these, at once and after a restart, and other channels go on with those of the gateway.
func TestToolsOfAChannel(t *testing.T) {
	const both = "tool_call tool_search"
	m, g := harness.Started(t, "BARECLAW_TOOLS=channel_list,json_format", "BARECLAW_WARM_SPARES=1")
	has := func(channel, want string) {
		t.Helper()
		var now string
		g.Eventually(channel+" has "+want, func() bool {
			now = strings.Join(toolsOf(g, channel), " ")
			return now == want
		})
	}
	set := func(channel, tools string) {
		t.Helper()
		if got := g.Must("PATCH", "/channels/"+channel, harness.Obj{"tools": tools}, 200).Str("tools"); got != strings.ReplaceAll(tools, " ", "") {
			t.Errorf("%s has the tools %q, want %q", channel, got, tools)
		}
	}
	says := func(channel, text, want string) {
		t.Helper()
		if got := g.Say(channel, text).Str("text"); !strings.Contains(got, want) {
			t.Errorf("%s on %s: %q, want %q in it", text, channel, got, want)
		}
	}
	has("plain", "channel_list json_format "+both)
	has("own", "channel_list json_format "+both)

	id := g.Tell("own", "mcp "+m.Path("go")+" channel_list {}")
	g.Eventually("the call is about to come", func() bool { return g.Channel("own").Number("running") == 1 })
	set("own", "push_send, json_format")
	m.Touch("go")
	if text := g.Outcome(id).Str("text"); !strings.Contains(text, "there is no such tool") {
		t.Errorf("a call after the change: %q", text)
	}
	has("own", "json_format push_send "+both)
	says("own", `mcp - tool_search {"query":"channel list"}`, `"tools":[`)
	says("own", `mcp - tool_call {"name":"hello_world"}`, "there is no tool")
	says("own", `mcp - tool_call {"name":"json_format","args":{"json":"[1]"}}`, `"valid":true`)
	if text := g.Say("own", `mcp - tool_search {"query":""}`).Str("text"); strings.Contains(text, `"name":"channel_list"`) || !strings.Contains(text, `"name":"push_send"`) {
		t.Errorf("a search finds %s", text)
	}
	has("plain", "channel_list json_format "+both)
	set("none", "none")
	has("none", both)
	set("all", "all")
	g.Say("all", "echo x")
	says("all", `mcp - hello_world {"name":"you"}`, "Hello, you!")

	g.Restart()
	has("own", "json_format push_send "+both)
	m.Command(harness.ExitOK, "channels", "show", "own").Shows("push_send,json_format")
	m.Command(harness.ExitOK, "channels", "set", "own", "--tools", "channel_list")
	has("own", "channel_list "+both)
	m.Command(harness.ExitOK, "channels", "set", "own", "--tools", "")
	has("own", "channel_list json_format "+both)

	g.Must("PATCH", "/channels/own", harness.Obj{"tools": "all,channel_list"}, 400).Refused(t, "unfit tools", 400, "bad_setting")
	g.Must("PATCH", "/channels/own", harness.Obj{"tools": []string{"channel_list"}}, 400).Refused(t, "a list", 400, "bad_setting")
	g.OverSocket().Must("PATCH", "/channels/own", harness.Obj{"tools": "all"}, 403).Refused(t, "over the socket", 403, "not_on_socket")
}
