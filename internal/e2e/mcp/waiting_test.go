package mcp

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestWaitingCall: a client that asks for progress hears that its call waits for a person. Over bareclaw mcp the
// call outlives a restart, and a person is asked anew.
func TestWaitingCall(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_APPROVALS=ask", "BARECLAW_PERMISSION_MODE=default")
	m.Mount(harness.OddServer(t, "odd"))
	g.AwaitTool("odd_act")
	for _, version := range versions {
		for name, transport := range map[string]sdk.Transport{
			"HTTP":         &sdk.StreamableClientTransport{Endpoint: g.Base + "/mcp", HTTPClient: g.HTTP},
			"bareclaw mcp": &sdk.CommandTransport{Command: m.Prepare("mcp", "--dir", m.Path("work"))},
		} {
			said := make(chan *sdk.ProgressNotificationParams, 10)
			session := connectWith(t, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { said <- r.Params },
			}, transport, version)
			answer := make(chan *sdk.CallToolResult, 1)
			go func() {
				params := &sdk.CallToolParams{Name: "odd_act", Arguments: map[string]any{"text": "done"}}
				params.SetProgressToken(name)
				result, err := session.CallTool(t.Context(), params)
				check.OK(t, err)
				answer <- result
			}()
			asked := func() string {
				got := <-said
				if got.Message != "waiting for a person: bareclaw approvals" || got.ProgressToken != name {
					t.Errorf("%s %s: the client hears %+v", name, version, got)
				}
				id, _ := got.Meta["bareclaw/approval"].(string)
				return id
			}
			id := asked()
			if name == "bareclaw mcp" {
				restart(g)
				id = asked()
			}
			g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"}, 200)
			result := <-answer
			if text, ok := result.Content[0].(*sdk.TextContent); !ok || text.Text != "done" {
				t.Errorf("%s %s: the result is %+v", name, version, result)
			}
			check.OK(t, session.Close())
		}
	}
	g.Balanced()
}
