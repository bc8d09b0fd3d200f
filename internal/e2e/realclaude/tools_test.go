package realclaude

import (
	"slices"
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
	g.Mentions(g.Outcome(id), "did you mean channel_list?")
	offered := m.Requests()[0].Tools
	for _, name := range []string{"mcp__bareclaw__tool_search", "mcp__bareclaw__tool_call"} {
		if !slices.Contains(offered, name) {
			t.Errorf("the model is not offered %s: %q", name, offered)
		}
	}
}
