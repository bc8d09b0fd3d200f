package http

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// A newsReader reads the gateway's own events over several connections, each of which begins where the one
// before ended.
type newsReader struct {
	g    *harness.Gateway
	now  *harness.Stream
	last string
}

func readNews(g *harness.Gateway) *newsReader {
	return &newsReader{g: g, now: g.Stream("GET", "/events", nil)}
}

// want fails unless the next event is of a kind, and returns its data.
func (r *newsReader) want(kind string) harness.Answer {
	r.g.T.Helper()
	e, ok := r.now.Next("tool:registered", "tool:hot-reloaded", "tool:removed", "notice", "restarting", "shutdown")
	if !ok {
		r.g.T.Fatalf("the stream has ended without %s", kind)
	}
	if e.Kind != kind {
		r.g.T.Fatalf("got %s %s, want %s", e.Kind, e.Data.Body, kind)
	}
	r.last = e.Last
	return e.Data
}

// wantTool fails unless the next event is that of a file's tool.
func (r *newsReader) wantTool(kind, name string) {
	r.g.T.Helper()
	got := r.want(kind)
	if got.Str("tool") != name || got.Str("source") != "dynamic" || got.JSON["mount"] != nil || got.Number("version") == 0 {
		r.g.T.Errorf("%s says %s, want the tool %s", kind, got.Body, name)
	}
}

// resume makes another connection.
func (r *newsReader) resume(g *harness.Gateway) {
	r.g.T.Helper()
	r.now.Close()
	r.g = g
	r.now = g.Stream("GET", "/events", nil, "Last-Event-ID", r.last)
}

// addTool writes a file with a tool, and waits until the gateway has as many tools of files.
func addTool(m *harness.Machine, g *harness.Gateway, name string, count float64) {
	g.T.Helper()
	m.Write("state/tools/"+name+".ts", strings.ReplaceAll(greeter, "greet", name), 0o600)
	toolHost(g, name+" is counted", func(tools, _ map[string]any) bool { return tools["dynamic"] == count })
}

// TestNewsOfTools: whoever watches the gateway hears of each tool that comes, changes and goes, once, also over
// a restart in each of the orderly ways, and never of the tools that were there.
func TestNewsOfTools(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *harness.Gateway) *harness.Gateway{
		"restarting": func(g *harness.Gateway) *harness.Gateway {
			g.Restart()
			return g
		},
		"shutdown": func(g *harness.Gateway) *harness.Gateway {
			g.Signal(syscall.SIGTERM)
			return g.Machine.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Write("state/tools/before.ts", strings.ReplaceAll(greeter, "greet", "before"), 0o600)
			g := m.Start()
			news := readNews(g)
			toolHost(g, "the tool of before is counted", func(tools, _ map[string]any) bool { return tools["dynamic"] == 1.0 })
			addTool(m, g, "greet", 2)
			news.wantTool("tool:registered", "greet")
			m.Write("state/tools/greet.ts", strings.ReplaceAll(greeter, "'hello'", "'good morning'"), 0o600)
			news.wantTool("tool:hot-reloaded", "greet")

			news.now.Close()
			addTool(m, g, "bow", 3) // while nobody watches
			news.resume(g)
			news.wantTool("tool:registered", "bow")
			late := *news

			addTool(m, g, "nod", 4)
			g = restart(g)
			news.wantTool("tool:registered", "nod")
			if end := news.want(name); end.Str("events") != "/events" {
				t.Errorf("the stream ends with %s", end.Body)
			}
			news.resume(g)
			late.resume(g)
			late.wantTool("tool:registered", "nod")
			toolHost(g, "the tools are there again", func(tools, _ map[string]any) bool { return tools["dynamic"] == 4.0 })
			addTool(m, g, "wave", 5)
			check.OK(t, os.Remove(m.Path("state/tools/before.ts")))
			for _, r := range []*newsReader{news, &late} {
				r.wantTool("tool:registered", "wave")
				r.wantTool("tool:removed", "before")
			}
		})
	}
}

// TestNewsAfterAKill: what a gateway that was killed has told is lost, of which the client hears.
func TestNewsAfterAKill(t *testing.T) {
	m, g := harness.Started(t)
	toolHost(g, "the tool host runs", func(_, host map[string]any) bool { return host["status"] == "running" })
	news := readNews(g)
	addTool(m, g, "greet", 1)
	news.wantTool("tool:registered", "greet")
	g.Kill()
	g = m.Start()
	news.resume(g)
	if gap := news.want("notice"); gap.Str("code") != "gap" || !strings.Contains(gap.Str("text"), "tools/list") {
		t.Errorf("the notice is %s", gap.Body)
	}
}

// TestNewsOfMountedTools: a mounted server's tools are told with its name, and counted by it.
func TestNewsOfMountedTools(t *testing.T) {
	m, g := harness.Started(t)
	toolHost(g, "the tool host runs", func(_, host map[string]any) bool { return host["status"] == "running" })
	news := readNews(g)
	server := harness.OddServer(t, "odd")
	server.Allow = []string{"*"}
	m.Mount(server)
	mounted := func(kind, name string) {
		t.Helper()
		if got := news.want(kind); got.Str("tool") != name || got.Str("source") != "mount" || got.Str("mount") != "odd" {
			t.Errorf("%s says %s, want the tool %s", kind, got.Body, name)
		}
	}
	names := []string{"odd_act", "odd_destroy", "odd_read", "odd_set"}
	for _, name := range names {
		mounted("tool:registered", name)
	}
	call := harness.Obj{"name": "odd_act", "arguments": harness.Obj{"action": "change", "text": "Do something else"}}
	g.Must("POST", "/mcp", harness.Obj{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, 200)
	mounted("tool:hot-reloaded", "odd_act")
	list := g.Must("POST", "/mcp", harness.Obj{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, 200)
	if n := strings.Count(string(list.Body), `"bareclaw/mount":"odd"`); n != len(names) {
		t.Errorf("tools/list names the server %d times, want %d: %s", n, len(names), list.Body)
	}
	if !strings.Contains(g.Log.String(), `"msg":"tool called","tool":"odd_act","source":"mount","mount":"odd"`) {
		t.Error("the log does not say whose tool was called")
	}
	samples := g.Metrics()
	for name, want := range map[string]float64{
		`bareclaw_mount_tools{mount="odd"}`:                                                  4,
		`bareclaw_mount_instances{mount="odd"}`:                                              1,
		`bareclaw_mount_starts_total{mount="odd"}`:                                           2, // to learn its tools, and to call one
		`bareclaw_mount_failures_total{mount="odd"}`:                                         0,
		`bareclaw_tool_call_duration_seconds_count{mount="odd",outcome="ok",source="mount"}`: 1,
	} {
		if got, known := samples[name]; !known || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	m.Write(harness.MountFile, "{}", 0o600)
	for _, name := range names {
		mounted("tool:removed", name)
	}
}
