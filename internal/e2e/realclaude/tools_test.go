package realclaude

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestRealGatewayTool has the real claude call a tool of the gateway, without a permission.
func TestRealGatewayTool(t *testing.T) {
	_, g := harness.StartReal(t)
	id := g.Tell("http", `tool:mcp__bareclaw__channel_list {}`)
	g.Mentions(g.Outcome(id), "final after 1 call(s)", `"channel":"http","own":true`)
}
