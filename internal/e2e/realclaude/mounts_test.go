package realclaude

import (
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/mcp/mounts"
)

// TestRealMountedTool: the real claude finds a tool of a real server that a person has mounted, a person is asked, and
// claude has the answer.
func TestRealMountedTool(t *testing.T) {
	s := mcpservers.Memory(t, t.TempDir()+"/memory.jsonl")
	m := harness.NewRealMachine(t, "BARECLAW_APPROVALS=ask")
	m.Mount(mounts.Server{Name: "memory", Command: s.Command, Args: s.Args, Env: s.Env})
	g := m.Start()
	t.Parallel()
	g.AwaitTool("memory_create_entities")
	g.Outcome(g.Tell("http", `tool:ToolSearch {"query":"create entities knowledge graph"}`))
	if found := m.Last(); !slices.Contains(found.Tools, "mcp__bareclaw__memory_create_entities") && !slices.Contains(found.UserTexts, "Tool loaded.") {
		t.Errorf("claude's own search does not find the tool: %+v", found)
	}
	id := g.Tell("http", `calls [{"tool":"mcp__bareclaw__memory_create_entities","input":{"entities":[{"name":"Anna","entityType":"person","observations":["likes tea"]}]}},`+
		`{"tool":"mcp__bareclaw__memory_search_nodes","input":{"query":"tea"}}]`)
	asked := g.Asked(1)[0]
	if asked.Str("tool") != "mcp__bareclaw__memory_create_entities" || asked.Str("kind") != "call" || !strings.Contains(asked.Str("why"), "mounted server memory") {
		t.Errorf("the question is %v", asked)
	}
	g.Decide(asked, harness.Obj{"behavior": "allow"})
	g.Mentions(g.Outcome(id), "final after 2 call(s)", "likes tea")
}
