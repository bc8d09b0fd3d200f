package tools

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// done returns how often the machine's claudes did something.
func done(m *harness.Machine, event string) (n int) {
	m.T.Helper()
	for _, l := range m.Journal() {
		if l.Event == event {
			n++
		}
	}
	return n
}

// toolsOf returns the tools that claude has on a channel.
func toolsOf(g *harness.Gateway, channel string) (names []string) {
	g.T.Helper()
	a := g.Say(channel, "tools")
	check.OK(g.T, json.Unmarshal([]byte(a.Str("text")), &names))
	return names
}

// lists reports whether clients outside of sessions have the tool.
func lists(g *harness.Gateway, tool string) bool {
	g.T.Helper()
	return strings.Contains(string(g.Must("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200).Body), `"name":"`+tool+`"`)
}

// TestToolsSetting holds that BARECLAW_TOOLS says what claude sees, may call, finds and may call by
// name; that a client outside of sessions has all tools; and that an unknown name is warned of once.
func TestToolsSetting(t *testing.T) {
	t.Parallel()
	const both = "tool_call tool_search"
	for setting, want := range map[string]struct{ tools, warned string }{
		"none":                         {both, ""},
		"channel_list,text_not_a_tool": {"channel_list " + both, "text_not_a_tool"},
		"json_format, channel_list":    {"channel_list json_format " + both, ""},
		"tool_search":                  {both, ""},
	} {
		t.Run(setting, func(t *testing.T) {
			_, g := harness.Started(t, "BARECLAW_TOOLS="+setting)
			var now []string
			g.Eventually("claude has "+want.tools, func() bool { // those of the tool host come a moment later
				now = toolsOf(g, "a")
				return strings.Join(now, " ") == want.tools
			})
			for _, name := range []string{"channel_list", "json_format"} {
				offered := slices.Contains(now, name)
				if found := strings.Contains(g.Say("a", "mcp - tool_search {\"query\":\"\"}").Str("text"), `"name":"`+name+`"`); found != offered {
					t.Errorf("%s is offered: %v, and found: %v", name, offered, found)
				}
			}
			called := g.Say("a", `mcp - tool_call {"name":"json_format","args":{"json":"[1]"}}`).Str("text")
			if refused := strings.Contains(called, "there is no tool"); refused == slices.Contains(now, "json_format") {
				t.Errorf("a call by name ends with %s", called)
			}
			g.Eventually("a client outside of sessions has all tools", func() bool { return lists(g, "json_format") })
			const warning = "BARECLAW_TOOLS names "
			warned := func(n int) func() bool {
				return func() bool { return want.warned == "" || strings.Count(g.Log.String(), warning+want.warned+",") == n }
			}
			g.Eventually("the unknown name is warned of", warned(1))
			g.Restart()
			g.Eventually("the next process warns too", warned(2))
			if want.warned == "" && strings.Contains(g.Log.String(), warning) {
				t.Error("a known tool is warned of")
			}
		})
	}
}

// TestToolsFromTheStart has spares start with the first gateway: claude asks for its tools once, and
// gets them.
func TestToolsFromTheStart(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_WARM_SPARES=2")
	g.SpareReady(2)
	if names := toolsOf(g, "a"); !slices.Contains(names, "channel_list") {
		t.Errorf("the first session has the tools %q", names)
	}
	if n := done(m, "unlisted"); n != 0 {
		t.Errorf("claude was not told its tools %d times", n)
	}
}

// TestToolsChange has tools made while sessions run: they hear of them, once for a burst. A restart
// tells them nothing.
func TestToolsChange(t *testing.T) {
	m, g := harness.Started(t)
	has := func(name string) func() bool {
		return func() bool { return slices.Contains(toolsOf(g, "a"), name) }
	}
	g.Eventually("claude has the built-in tools", has("json_format"))
	before := done(m, "list_changed")
	for _, name := range []string{"burst_one", "burst_two", "burst_three"} {
		text := `export const tool = { name: "` + name + `", description: "Says ` + name + `.", schema: { type: "object", properties: {} }, async handler() { return "I am ` + name + `"; } };`
		check.OK(t, os.WriteFile(filepath.Join(m.Path("state/tools"), name+".ts"), []byte(text), 0o600))
	}
	for _, name := range []string{"burst_one", "burst_two", "burst_three"} {
		g.Eventually("claude has "+name, has(name))
		g.Say("a", "mcp - "+name+" {}").Want(t, "final: I am "+name)
	}
	told := done(m, "list_changed")
	if told -= before; told < 1 || told > 3 {
		t.Errorf("claude was told %d times of a burst", told)
	}
	listed := done(m, "listed")
	g.Restart()
	g.Eventually("the tools of the next process are known", func() bool { return lists(g, "burst_one") })
	g.Say("a", "mcp - burst_one {}").Want(t, "final: I am burst_one")
	if n := done(m, "listed"); n != listed {
		t.Errorf("claude asked for its tools %d times more after a restart", n-listed)
	}
}

// hang is a tool that does not end by itself within the time of a test.
const hang = `export const tool = { name: "hang", description: "Hangs.", schema: { type: "object" }, timeoutMs: 600000, async handler() {
	console.log("it hangs"); await new Promise((done) => setTimeout(done, 600000)); } };`

// TestHangingTool: a tool that hangs holds up the session that calls it, and no other one.
func TestHangingTool(t *testing.T) {
	m, g := harness.Started(t)
	g.Eventually("the tools are known", func() bool { return lists(g, "json_format") })
	m.Write("state/tools/hang.ts", hang, 0o600)
	g.Eventually("the tool is there", func() bool { return lists(g, "hang") })
	id := g.Tell("a", `mcp - tool_call {"name":"hang"}`)
	g.Eventually("the tool hangs", func() bool { return strings.Contains(m.Log.String(), "it hangs") })
	for range 3 {
		g.Say("b", `mcp - tool_call {"name":"json_format","args":{"json":"[1, 2]","action":"minify"}}`).Want(t, `final: {"valid":true,"result":"[1,2]"}`)
	}
	g.Must("POST", "/channels/a/interrupt", nil, 200)
	if a := g.Outcome(id); a.Str("state") != "cancelled" {
		t.Errorf("the outcome is %s", a.Body)
	}
}

// TestToolHostAddress: the tool host answers at an address of its own, behind the checks of the API,
// also while the gateway is replaced.
func TestToolHostAddress(t *testing.T) {
	address := "127.0.0.1:" + harness.FreePort(t)
	_, g := harness.Started(t, "BARECLAW_TOOLHOST_ADDR="+address)
	ask := func(method, path, host, body string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		check.OK(t, err)
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		check.OK(t, err)
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		check.OK(t, err)
		return res.StatusCode, string(b)
	}
	serves := func() bool {
		status, answer := ask(http.MethodGet, "/health", "", "")
		return status == http.StatusOK && strings.Contains(answer, `"toolCount":36`)
	}
	g.Eventually("the tool host serves", serves)
	if status, answer := ask(http.MethodPost, "/call", "", `{"tool":"hello_world","args":{"name":"World"}}`); status != http.StatusOK || !strings.Contains(answer, `"structuredContent":{"greeting":"Hello, World!"}`) {
		t.Errorf("a call: %d %s", status, answer)
	}
	if status, answer := ask(http.MethodGet, "/health", "evil.example", ""); status != http.StatusForbidden {
		t.Errorf("a foreign host: %d %s", status, answer)
	}
	if status, answer := ask(http.MethodGet, "/channels", "", ""); status != http.StatusNotFound {
		t.Errorf("a path of the API: %d %s", status, answer)
	}
	g.Restart() // ask fails if the connection is refused
	for !serves() {
		if status, answer := ask(http.MethodGet, "/health", "", ""); status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("during the start of the next tool host: %d %s", status, answer)
		}
	}
	if status, answer := ask(http.MethodPost, "/shutdown", "", ""); status != http.StatusOK || !strings.Contains(answer, `"success":true`) {
		t.Errorf("a shutdown: %d %s", status, answer)
	}
	g.Eventually("there is another tool host", serves)
}
