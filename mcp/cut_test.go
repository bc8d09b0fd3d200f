package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// TestCutCalls: a call that the end of the gateway cuts is no fault of its parameters, and the error says whether to
// send it again.
func TestCutCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hints tools.Annotations
		err   error
		has   []string
	}{
		"that changes nothing":  {tools.Annotations{ReadOnly: true}, core.ErrClosed, []string{`"code":-32603`, `"bareclaw/again":true`, "call acts again"}},
		"that may run again":    {tools.Annotations{Idempotent: true}, core.ErrClosed, []string{`"code":-32603`, `"bareclaw/again":true`}},
		"that has not begun":    {tools.Annotations{}, tools.ErrNotBegun, []string{`"code":-32603`, `"bareclaw/again":true`}},
		"that may have effects": {tools.Annotations{}, fmt.Errorf("x: %w", core.ErrClosed), []string{`"code":-32603`, `"bareclaw/again":false`, "whether acts was carried out is not known"}},
	} {
		p := newProcessOf(t, []tools.Source{tools.Dispatchers()})
		tool := tools.Tool{Name: "acts", Input: json.RawMessage(`{"type":"object"}`), ByName: true, Annotations: c.hints, Handle: func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, c.err }}
		check.OK(t, p.tools.Replace([]tools.Tool{tool}))
		g := serve(t, p)
		for _, call := range []string{`{"name":"acts","arguments":{}}`, `{"name":"tool_call","arguments":{"name":"acts","args":{}}}`} {
			_, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+call+`}`)
			for _, has := range c.has {
				if !strings.Contains(body, has) {
					t.Errorf("a call %s, as %s: %s, want %s", name, call, body, has)
				}
			}
		}
	}
}

// TestNotKnownYet: a call of a tool that is not known before the gateway ends may be sent again.
func TestNotKnownYet(t *testing.T) {
	t.Parallel()
	why := fmt.Errorf("x: %w", core.ErrClosed)
	late := lateSource{await: func() error { return why }}
	p := newProcessOf(t, []tools.Source{late})
	_, body := serve(t, p).send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late"}}`)
	if !strings.Contains(body, `"bareclaw/again":true`) || !strings.Contains(body, `"code":-32603`) {
		t.Error(body)
	}
	why = errors.New("it is still loading")
	if _, body := serve(t, p).send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late"}}`); !strings.Contains(body, "it is still loading") || !strings.Contains(body, `"code":-32603`) {
		t.Error(body)
	}
}

// TestWhyMissing: who calls a tool that is missing is told why, by its name and by tool_call; only as far as the
// channel may use it.
func TestWhyMissing(t *testing.T) {
	t.Parallel()
	late := lateSource{missing: map[string]string{"hot": "Its file is broken."}}
	p := newProcessOf(t, []tools.Source{tools.Dispatchers(), late})
	g := serve(t, p)
	for call, has := range map[string]string{
		`{"name":"hot"}`: "Its file is broken.", `{"name":"tool_call","arguments":{"name":"hot"}}`: "Its file is broken.", `{"name":"cold"}`: `no such tool: \"cold\""`,
	} {
		if _, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+call+`}`); !strings.Contains(body, has) {
			t.Errorf("%s: %s", call, body)
		}
	}
}

// TestHints: clients hear of the hints that a tool gives, and of no others.
func TestHints(t *testing.T) {
	t.Parallel()
	for want, hints := range map[string]tools.Annotations{
		`null`: {},
		`{"readOnlyHint":true,"idempotentHint":false}`:                          {ReadOnly: true},
		`{"destructiveHint":true,"readOnlyHint":false,"idempotentHint":false}`:  {Destructive: tools.Yes},
		`{"destructiveHint":false,"readOnlyHint":false,"idempotentHint":false}`: {Destructive: tools.No},
		`{"openWorldHint":false,"readOnlyHint":false,"idempotentHint":false}`:   {OpenWorld: tools.No},
	} {
		var got struct {
			Annotations json.RawMessage `json:"annotations"`
		}
		check.OK(t, json.Unmarshal(encode(describe(&tools.Tool{Name: "a", Annotations: hints})), &got))
		var is, as any
		if got.Annotations == nil {
			got.Annotations = json.RawMessage("null")
		}
		check.OK(t, json.Unmarshal(got.Annotations, &is))
		check.OK(t, json.Unmarshal([]byte(want), &as))
		if fmt.Sprint(is) != fmt.Sprint(as) {
			t.Errorf("%+v is offered as %s, want %s", hints, got.Annotations, want)
		}
	}
}
