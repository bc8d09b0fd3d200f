package toolhost

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// creation returns arguments of dynamic_tool_create.
func creation(t testing.TB, name, code string) string {
	t.Helper()
	b, err := plainjson.Marshal(map[string]any{
		"name":        name,
		"description": fmt.Sprintf("Version %.20s", code),
		"schema":      json.RawMessage(`{"type":"object"}`),
		"code":        code,
	})
	check.OK(t, err)
	return string(b)
}

// TestCreate: a tool can be called when the answer to its creation is there, can be replaced, and
// survives the process.
func TestCreate(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, code := range []string{"return 'one'", "return 'two'"} {
		r.gives("dynamic_tool_create", creation(t, "made", code), `Tool 'made' created successfully. Call it now: tool_call with name "made".`)
		r.gives("made", `{}`, strings.Trim(code[len("return "):], "'"))
		if tool, _ := r.registry.Find("made"); tool.Description != "Version "+code || tool.Source != api.Dynamic {
			t.Errorf("%+v", tool)
		}
	}
	b, err := os.ReadFile(r.path("made.ts"))
	if err != nil || !strings.HasPrefix(string(b), `// Made with dynamic_tool_create by channel "tg-1", `) {
		t.Errorf("the file does not say who made the tool: %.100s, %v", b, err)
	}
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	r.gives("made", `{}`, "two")
	if names := entries(t, r.dir); len(names) != 1 {
		t.Errorf("the directory has %v", names)
	}
}

// TestCreateInPlace: a tool is replaced in its own file, and never another tool's file.
func TestCreateInPlace(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("first.ts", file("second", "Second", "return 1;"))
	r.offers("second", "Second")
	r.refuses("dynamic_tool_create", creation(t, "first", "return 2"), `first.ts defines the tool "second"`)
	r.gives("second", `{}`, "1")
	r.gives("dynamic_tool_create", creation(t, "second", "return 3"), `Tool 'second' created successfully. Call it now: tool_call with name "second".`)
	r.gives("second", `{}`, "3")
	r.write("broken.ts", "export const")
	r.gives("dynamic_tool_create", creation(t, "broken", "return 4"), `Tool 'broken' created successfully. Call it now: tool_call with name "broken".`)
	if names := fmt.Sprint(entries(t, r.dir)); names != "[broken.ts first.ts]" {
		t.Errorf("the directory has %s", names)
	}
}

// TestCreateRefused: what cannot become a tool is refused with a reason, and leaves no file.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	with := func(member, value string) string {
		return `{"name":"made","description":"Made","schema":{"type":"object"},"code":"return 1","` + member + `":` + value + `}`
	}
	for _, c := range []struct {
		args string
		says string
	}{
		{with("name", `"Made"`), "name:"},
		{with("name", `""`), "name:"},
		{with("name", `"../made"`), "name:"},
		{with("name", `"1made"`), "name:"},
		{with("name", `"`+strings.Repeat("x", 51)+`"`), "at most 50"},
		{with("name", `"_deleted"`), "name:"},
		{with("name", `7`), "name"},
		{with("name", `"worker_status"`), "reserved"},
		{with("name", `"dynamic_tool_delete"`), "reserved"},
		{with("name", `"tool_search"`), "reserved"},
		{with("name", `"tool_call"`), "reserved"},
		{with("name", `"plan_read"`), "reserved"},
		{with("name", `"dynamic_tool_create"`), "protected"},
		{with("name", `"hello_world"`), "protected"},
		{with("description", `""`), "\nError: description: it must be a text"},
		{with("schema", `{}`), "\nError: schema: it must be a JSON Schema"},
		{with("schema", `{"type":"string"}`), "\nError: schema: it must be a JSON Schema"},
		{with("schema", `[]`), "schema"},
		{with("schema", `{"type":"object","properties":{"a":{"type":"nothing"}}}`), "\nError: schema: "},
		{with("schema", `{"type":"object","properties":{"a":{"pattern":"("}}}`), "\nError: schema: "},
		{with("permissions", `["ai"]`), "\nError: permissions: the permission \"ai\" is not available yet"},
		{with("code", `""`), "\nError: code: it is empty"},
		{with("code", `"async (args) => { return args.a }"`), "\nError: code: it is a function"},
		{with("code", `"async function handler(args) { return args.a }"`), "\nError: code: it is a function"},
		{with("code", `"args.a + args.b"`), "\nError: code: it is an expression"},
		{with("code", `"const a = args.a; console.log(a)"`), "\nError: code: it never returns anything"},
		{with("code", `"import { createHash } from \"crypto\";\nreturn createHash('md5')"`), "code:1:1: crypto cannot be imported: a tool has no modules, but it has console, timers"},
		{with("code", `"\n  export const tool = { name: 'x' };"`), "code:2:3: export is not allowed here"},
		{with("permissions", `["all"]`), "permissions"},
		{with("code", `"const a = 1;\nreturn a +;"`), "code:2:11: "},
		{with("code", `"const a = 1;\n\nreturn eval('a');"`), "code:3:8: eval() is not allowed"},
		{with("code", `"return 1 }, name: 'hello_world', async handler() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, permissions: ['network'], async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, description: 'Read only', async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, schema: { type: 'object', properties: {} }, async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, outputSchema: { type: 'object' }, async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, annotations: { readOnlyHint: true }, async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, timeoutMs: 600000, async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, async handler() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 }, get timeoutMs() { return Date.now() % 2 ? 30000 : 600000"`), "changes what the tool is"},
		{with("code", `"return 1 } }; tool.timeoutMs = 600000; const other = { async handler() { return 2"`), "changes what the tool is"},
		{with("permissions", `["network"],"code":"return 1 }, permissions: [], async other() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 } }; while (true) {} const other = { async handler() { return 2"`), "changes what the tool is"},
		{with("code", `"return 1 } }; `+endless+` const other = { async handler() { return 2"`), "changes what the tool is"},
		{`{"name":"made","description":"Made","schema":{"type":"object"}}`, `"code"`},
		{with("code", `"`+strings.Repeat("<", 1<<20)+`"`), "at most 1048576"},
		{with("code", `"`+strings.Repeat("<", 3<<20)+`"`), "at most 1048576"},
		{with("code", `"`+strings.Repeat("<", 5<<20)+`"`), "too large"},
	} {
		r.refuses("dynamic_tool_create", c.args, c.says)
	}
	if names := entries(t, r.dir); len(names) > 0 {
		t.Errorf("the directory has %v", names)
	}
	if s := r.now(); s.RestartCount != 0 || !s.Healthy {
		t.Errorf("the state is %+v", s)
	}
	big := "/*" + strings.Repeat("<", 1<<20-1000) + "*/ return 'big'"
	r.gives("dynamic_tool_create", creation(t, "big", big), `Tool 'big' created successfully. Call it now: tool_call with name "big".`)
	r.gives("big", `{}`, "big")
}

// TestCreateTakenName: the name of a tool of another source, which comes before, is told.
func TestCreateTakenName(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	other := tools.NewList("other")
	registry, err := tools.NewRegistry(tools.Options{
		Log:     r.o.Log,
		Sources: append([]tools.Source{tools.Dispatchers(), other}, r.Sources()...),
	})
	check.OK(t, err)
	check.OK(t, other.Replace([]tools.Tool{{
		Name:  "taken",
		Input: json.RawMessage(`{"type":"object"}`),
		Handle: func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{Text: "the other"}, nil
		},
	}}))
	r.registry = registry
	r.settle()
	r.refuses("dynamic_tool_create", creation(t, "taken", "return 1"), "left out, because a tool of the source other has its name")
	r.gives("taken", `{}`, "the other")
	r.gives("dynamic_tool_create", creation(t, "free", "return 1"), `Tool 'free' created successfully. Call it now: tool_call with name "free".`)
}

// TestReservedInFiles: a file cannot take a name of the gateway either.
func TestReservedInFiles(t *testing.T) {
	t.Parallel()
	r := start(t)
	for i, name := range []string{"worker_restart", "tool_call", "dynamic_tool_create"} {
		r.write(fmt.Sprintf("%d.ts", i), file(name, "Mine", "return 1;"))
	}
	r.write("z.ts", file("z", "Z", "return 1;"))
	r.offers("z", "Z")
	r.eventually("three problems", func() bool { return strings.Count(r.lastError(), "is reserved") == 3 })
	for _, name := range []string{"worker_restart", "tool_call", "dynamic_tool_create"} {
		if tool, _ := r.registry.Find(name); tool.Source != tools.Gateway {
			t.Errorf("%+v", tool)
		}
		if !r.log.has("tool not loaded", "is reserved", name) {
			t.Errorf("nothing is logged of %s", name)
		}
	}
}

// TestCreateAtOnce: tools that are made and deleted at once all come and go.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprintf("made_%d", i)
			r.gives("dynamic_tool_create", creation(t, name, "return 1"), fmt.Sprintf("Tool '%s' created successfully. Call it now: tool_call with name %q.", name, name))
			r.gives(name, `{}`, "1")
			r.gives("dynamic_tool_create", creation(t, "shared", "return 2"), `Tool 'shared' created successfully. Call it now: tool_call with name "shared".`)
			if got := r.call("worker_snapshot", `{"name":"mine"}`); got.IsError {
				t.Error(shortened(got))
			}
			if i%2 == 0 {
				r.gives("dynamic_tool_delete", `{"name":"`+name+`"}`, "Tool '"+name+"' deleted successfully")
			}
		})
	}
	all.Wait()
	if names := fmt.Sprint(entries(t, r.dir)); names != "[made_1.ts made_3.ts made_5.ts made_7.ts shared.ts]" {
		t.Errorf("the directory has %s", names)
	}
}
