package realclaude

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestRealGatewayTools has the real claude call tools of the gateway, without a permission. The
// model sees the two that reach all others from the start.
func TestRealGatewayTools(t *testing.T) {
	m, g := harness.StartReal(t)
	id := g.Tell("http", `tool:mcp__bareclaw__channel_list {}`)
	g.Mentions(g.Outcome(id), "final after 1 call(s)", `"channel":"http","own":true`)
	id = g.Tell("http", `tool:mcp__bareclaw__tool_search {"query":"channels"}`)
	g.Mentions(g.Outcome(id), `"name":"channel_list"`, "inputSchema")
	id = g.Tell("http", `tool:mcp__bareclaw__tool_call {"name":"channel_lits"}`)
	g.Mentions(g.Outcome(id), "did you mean channel_list")
	offered := m.Requests()[0].Tools
	for _, name := range []string{"mcp__bareclaw__tool_search", "mcp__bareclaw__tool_call"} {
		if !slices.Contains(offered, name) {
			t.Errorf("the model is not offered %s: %q", name, offered)
		}
	}
}

// TestRealToolInterrupted interrupts a turn while a tool is at work: the call ends, no later process
// of the gateway carries it out, and the conversation goes on.
func TestRealToolInterrupted(t *testing.T) {
	m, g := harness.StartReal(t)
	m.Write("state/tools/hang.ts", `export const tool = { name: "hang", description: "Hangs.", schema: { type: "object" }, async handler() {
		console.log("it hangs"); await new Promise((done) => setTimeout(done, 30000)); } };`, 0o600)
	id := g.Tell("http", `tool:mcp__bareclaw__tool_call {"name":"hang"}`)
	m.Eventually("the tool hangs", func() bool { return strings.Contains(m.Log.String(), "it hangs") })
	g.Interrupt("http")
	g.Failed(g.Outcome(id), "cancelled", "interrupted")
	ended := func() int { return strings.Count(m.Log.String(), `"msg":"tool called","tool":"hang"`) }
	m.Eventually("the call has ended", func() bool { return ended() == 1 })
	agent := g.Agent("http")
	g.Kill()
	g = m.Start()
	g.Mentions(g.Outcome(g.Tell("http", `tool:mcp__bareclaw__channel_list {}`)), "final after 1 call(s)")
	if agent != 0 { // else claude took too long to end the turn, and was ended with it
		g.SameAgent("http", agent)
	}
	if n := ended(); n != 1 {
		t.Errorf("the tool was called %d times, want once", n)
	}
}

// TestRealToolMadeAndCalled makes a tool and calls it in one turn, in TypeScript, without a
// restart of anything.
func TestRealToolMadeAndCalled(t *testing.T) {
	_, g := harness.StartReal(t)
	id := g.Tell("http", `calls [`+
		`{"tool":"mcp__bareclaw__dynamic_tool_create","input":{"name":"reverse_string","description":"Reverse a string",`+
		`"schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},`+
		`"code":"const text = args.text as string; return { reversed: [...text].reverse().join('') };"}},`+
		`{"tool":"mcp__bareclaw__tool_call","input":{"name":"reverse_string","args":{"text":"h\u00e9llo"}}}]`)
	g.Mentions(g.Outcome(id), "final after 2 call(s)", `{"reversed":"olléh"}`)
	id = g.Tell("other", `tool:mcp__bareclaw__tool_call {"name":"reverse_string","args":{"text":1}}`)
	g.Mentions(g.Outcome(id), "do not fit its schema", "text")
}

// TestRealLargeResult: the model gets a result whole that claude would cut to a beginning, had the
// tool not asked for more.
func TestRealLargeResult(t *testing.T) {
	m, g := harness.StartReal(t)
	const size = 100_000
	id := g.Tell("http", fmt.Sprintf(`tool:mcp__bareclaw__tool_call {"name":"template_render","args":{"template":"{{a}}","variables":{"a":"%s"}}}`, strings.Repeat("x", size)))
	g.Mentions(g.Outcome(id), "final after 1 call(s)", `"result":"xxx`)
	all := m.Requests()
	if results := strings.Join(all[len(all)-1].ToolResults, ""); strings.Count(results, "x") < size {
		t.Errorf("the model gets %d bytes: %.300s", len(results), results)
	}
}
