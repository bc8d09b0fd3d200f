package http

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

const greeter = `export const tool = {
  name: 'greet', description: 'Greet', schema: { type: 'object' },
  async handler() { return { greeting: 'hello' }; },
};
`

// toolHost returns what GET /health says of the tool host once the condition holds.
func toolHost(g *harness.Gateway, until string, holds func(tools, host map[string]any) bool) (health harness.Answer, host map[string]any) {
	g.T.Helper()
	g.Eventually(until, func() bool {
		health = g.Must("GET", "/health", nil, 200)
		tools, _ := health.JSON["tools"].(map[string]any)
		host, _ = tools["host"].(map[string]any)
		return host != nil && holds(tools, host)
	})
	return health, host
}

// TestHealthTellsOfTools: a tool is counted once its file is there, and a file that cannot be
// loaded is a problem until it is mended.
func TestHealthTellsOfTools(t *testing.T) {
	m, g := harness.Started(t)
	health, host := toolHost(g, "the tool host runs", func(_, host map[string]any) bool { return host["status"] == "running" })
	if health.Str("status") != "ok" || host["healthy"] != true || host["pid"] == nil || host["restarts"] != 0.0 || host["heap_used"] == nil || host["last_error"] != nil {
		t.Errorf("at first: %s", health.Body)
	}
	m.Write("state/tools/greet.ts", greeter, 0o600)
	toolHost(g, "the tool is counted", func(tools, _ map[string]any) bool { return tools["dynamic"] == 1.0 })
	call := func(args any) string {
		return string(g.Must("POST", "/toolhost/call", harness.Obj{"tool": "greet", "args": args}, 200).Body)
	}
	for args, want := range map[any]string{"none": `"isError":true`, 1: `"isError":true`, nil: `"structuredContent":{"greeting":"hello"}`} {
		if got := call(args); !strings.Contains(got, want) {
			t.Errorf("with the arguments %v the answer is %s", args, got)
		}
	}
	samples := g.Metrics()
	for name, want := range map[string]float64{
		"bareclaw_tool_host_up": 1, "bareclaw_tool_host_crashes_total": 0, `bareclaw_tools{source="dynamic"}`: 1,
		`bareclaw_tool_call_duration_seconds_count{mount="",outcome="ok",source="dynamic"}`:     1,
		`bareclaw_tool_call_duration_seconds_count{mount="",outcome="failed",source="dynamic"}`: 2,
	} {
		if got, known := samples[name]; !known || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if samples["bareclaw_tool_host_heap_bytes"] == 0 || samples[`bareclaw_tools{source="gateway"}`] == 0 {
		t.Errorf("samples are %v", samples)
	}
	m.Write("state/tools/broken.ts", "export const tool = {\n  name: ,\n};\n", 0o600)
	health, host = toolHost(g, "the broken file is told of", func(_, host map[string]any) bool { return host["last_error"] != nil })
	if says := fmt.Sprint(health.JSON["problems"]); health.Str("status") != "degraded" || !strings.Contains(says, "broken.ts:2:") || !strings.HasPrefix(fmt.Sprint(host["last_error"]), "broken.ts:2:") {
		t.Errorf("with a broken file: %s", health.Body)
	}
	m.Command(exitcode.OK, "status").Shows("tools", "1 dynamic", "broken.ts:2:")
	m.Write("state/tools/broken.ts", strings.ReplaceAll(greeter, "greet", "bow"), 0o600)
	health, _ = toolHost(g, "the file is mended", func(tools, host map[string]any) bool { return tools["dynamic"] == 2.0 && host["last_error"] == nil })
	if health.Str("status") != "ok" {
		t.Errorf("with the mended file: %s", health.Body)
	}
}

// TestHealthTellsOfARollback kills the tool host until its tools are rolled back. Who uses the
// tools hears of that until somebody has looked after them.
func TestHealthTellsOfARollback(t *testing.T) {
	m, g := harness.Started(t)
	toolHost(g, "the tool host runs", func(_, host map[string]any) bool { return host["status"] == "running" })
	g.Eventually("the first state of the tools is kept", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	m.Write("state/tools/greet.ts", greeter, 0o600)
	toolHost(g, "the tool is counted", func(tools, _ map[string]any) bool { return tools["dynamic"] == 1.0 })
	for n, pid := 0, any(nil); n < 6; n++ {
		_, host := toolHost(g, "another tool host runs", func(_, host map[string]any) bool { return host["status"] == "running" && host["pid"] != pid })
		pid = host["pid"]
		check.OK(t, syscall.Kill(int(pid.(float64)), syscall.SIGKILL))
	}
	health, _ := toolHost(g, "the tools are rolled back", func(tools, host map[string]any) bool { return host["status"] == "running" && tools["dynamic"] == 0.0 })
	if says := fmt.Sprint(health.JSON["problems"]); !strings.Contains(says, "rolled back to the snapshot initial_") || !strings.Contains(says, "crashed 6 times") {
		t.Errorf("after the rollback: %s", health.Body)
	}
	g.Must("POST", "/mcp", harness.Obj{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.Obj{"name": "worker_restart", "arguments": harness.Obj{}}}, 200)
	health, _ = toolHost(g, "it runs again", func(_, host map[string]any) bool { return host["status"] == "running" })
	if health.Str("status") != "ok" {
		t.Errorf("after worker_restart: %s", health.Body)
	}
}
