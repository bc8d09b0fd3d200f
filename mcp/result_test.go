package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// TestResults: a session has the text of a result that has both text and an object, because claude would leave out
// the text; other clients have both.
func TestResults(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"n":1}`)
	for name, c := range map[string]struct {
		result          tools.Result
		session, others string
	}{
		"a text": {
			result:  tools.Result{Text: "one"},
			session: `{"content":[{"type":"text","text":"one"}]}`,
			others:  `{"content":[{"type":"text","text":"one"}]}`,
		},
		"an object": {
			result:  tools.Result{Structured: object},
			session: `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`,
			others:  `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`,
		},
		"both": {
			result:  tools.Result{Text: "one", Structured: object},
			session: `{"content":[{"type":"text","text":"one"}]}`,
			others:  `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`,
		},
		"both of an error": {
			result:  tools.Result{Text: "no", Structured: object, IsError: true},
			session: `{"content":[{"type":"text","text":"no"}],"isError":true}`,
			others:  `{"content":[{"type":"text","text":"no"}],"structuredContent":{"n":1},"isError":true}`,
		},
	} {
		p := newProcessOf(t, []tools.Source{tools.Dispatchers()})
		handle := func(context.Context, tools.Call) (tools.Result, error) { return c.result, nil }
		check.OK(t, p.tools.Replace([]tools.Tool{{
			Name:   "says",
			Input:  json.RawMessage(`{"type":"object"}`),
			ByName: true,
			Handle: handle,
		}}))
		g := serve(t, p)
		for _, params := range []string{`{"name":"says","arguments":{}}`, `{"name":"tool_call","arguments":{"name":"says","args":{}}}`} {
			request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
			_, body := g.send(t, "POST", request)
			if !strings.Contains(body, c.others) {
				t.Errorf("%s: other clients have %s, want %s", name, body, c.others)
			}
			answer := p.server.Answer(t.Context(), "desk", "s", core.ToolRequest{
				Server:    Name,
				Message:   json.RawMessage(request),
				MessageID: "1",
			})
			var got struct{ Result json.RawMessage }
			check.OK(t, json.Unmarshal(answer, &got))
			if string(got.Result) != c.session {
				t.Errorf("%s: a session has %s, want %s", name, got.Result, c.session)
			}
		}
	}
}
