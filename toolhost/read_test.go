package toolhost

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestRead: who makes a tool can read its file, and what the last call has written to the console: the caller's own,
// also if the call fails.
func TestRead(t *testing.T) {
	t.Parallel()
	r := start(t)
	status := r.call("worker_status", `{}`)
	create, _ := r.registry.Find("dynamic_tool_create")
	if !strings.Contains(string(status.Structured), `"toolsDir":"`+r.dir+`"`) || !strings.Contains(create.Description, r.dir) || !strings.Contains(create.Description, readTool) {
		t.Errorf("nobody tells where the tools are: %s, %s", status.Structured, create.Description)
	}
	read := func(channel string) (got shownTool) {
		t.Helper()
		result, err := r.registry.Call(t.Context(), readTool, tools.Call{Caller: tools.Caller{Channel: "tg-" + "1"}, Args: json.RawMessage(`{"name":"made"}`)})
		if channel != "tg-1" {
			result, err = r.registry.Call(t.Context(), readTool, tools.Call{Args: json.RawMessage(`{"name":"made"}`)})
		}
		check.OK(t, err)
		check.OK(t, json.Unmarshal(result.Structured, &got))
		return got
	}
	r.call("dynamic_tool_create", creation(t, "made", "console.log('so far', args); if (args) throw new Error('no'); return {}"))
	r.refuses("made", `{"a":1}`, "no")
	got := read("tg-1")
	if got.File != r.path("made.ts") || !strings.Contains(got.Source, "console.log('so far', args)") || len(got.Console) != 1 || !strings.Contains(got.Console[0], "so far") {
		t.Errorf("got %+v", got)
	}
	if other := read("other"); other.Console != nil {
		t.Errorf("another caller reads %v", other.Console)
	}
	r.write("made.ts", "export const tool = {\n  name: 'made' +;\n")
	r.eventually("the problem", func() bool { return strings.Contains(read("tg-1").Problem, "made.ts:2:17: ") })
	for args, says := range map[string]string{
		`{"name":"hello_world"}`: "has no file", `{"name":"none"}`: "there is no tool", `{"name":"../made"}`: "name:", `{"name":"worker_status"}`: "has no file",
	} {
		r.refuses(readTool, args, says)
	}
}

// TestConsoles: so much is kept, and the newest.
func TestConsoles(t *testing.T) {
	t.Parallel()
	c := newConsoles()
	for i := range 2 * maxConsoles {
		c.keep(string(rune('a'+i)), tools.Call{}, []string{"x"})
		c.keep("mine", tools.Call{Caller: tools.Caller{Channel: "tg-1"}}, []string{"y"})
	}
	if len(c.lines) != maxConsoles || len(c.order) != maxConsoles || c.of("mine", tools.Call{Caller: tools.Caller{Channel: "tg-1"}}) == nil || c.of("a", tools.Call{}) != nil {
		t.Errorf("%d are kept, in %d places", len(c.lines), len(c.order))
	}
	c.keep("mine", tools.Call{Caller: tools.Caller{Channel: "tg-1"}}, nil)
	if len(c.lines) != maxConsoles-1 || c.of("mine", tools.Call{Caller: tools.Caller{Channel: "tg-1", Local: true}}) != nil {
		t.Error("a call without lines leaves those of an earlier one")
	}
}

// TestCreateWhole: a tool can be made with all members that a file can have.
func TestCreateWhole(t *testing.T) {
	t.Parallel()
	r := start(t)
	with := func(more string) string {
		return `{"name":"made","description":"Made","schema":{"type":"object"},"code":"return args.v ?? { a: 1 }",` + more + `}`
	}
	const output = `"outputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`
	r.gives("dynamic_tool_create", with(`"timeoutMs":1500,"annotations":{"title":"Makes","readOnlyHint":true,"openWorldHint":false},`+output),
		`Tool 'made' created successfully. Call it now: tool_call with name "made".`)
	made, _ := r.registry.Find("made")
	want := tools.Annotations{Title: "Makes", ReadOnly: true, OpenWorld: tools.No}
	if made.Annotations != want || made.Timeout != 1500*time.Millisecond+api.MachineWait+extraTime || made.Output == nil {
		t.Errorf("it is %+v", made)
	}
	r.gives("made", `{}`, `{"a":1}`)
	r.refuses("made", `{"v":{"a":"x"}}`, "the result of made does not fit its outputSchema: /a")
	r.refuses("made", `{"v":"text"}`, "made has an outputSchema, but its handler has returned no object")
	for more, says := range map[string]string{
		`"timeoutMs":0`: "timeoutMs", `"annotations":{"nice":true}`: "nice", `"outputSchema":{"type":"array"}`: "outputSchema", `"outputSchema":{"type":"object","required":1}`: "outputSchema",
	} {
		r.refuses("dynamic_tool_create", with(more), says)
	}
	header := strings.Replace(with(`"timeoutMs":1`), `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"not a name"}}}`, 1)
	r.refuses("dynamic_tool_create", header, `/properties/a: the x-mcp-header "not a name" is not the name of an HTTP header`)
}
