package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

const reverse = `import type { DynamicTool } from './types.js';

export const tool: DynamicTool = {
  name: 'reverse_string',
  description: 'Reverse a string',
  schema: {
    type: 'object',
    properties: {
      text: {
        type: 'string',
        description: 'Text to reverse'
      }
    },
    required: ['text']
  },
  async handler(args: Record<string, unknown>) {
    const text = args.text as string;
    return { reversed: text.split('').reverse().join('') };
  },
};
`

// object is the schema of a tool that takes anything.
var object = json.RawMessage(`{"type":"object"}`)

// body compiles a tool whose handler has the body.
func body(t testing.TB, code string, permissions ...string) *Script {
	t.Helper()
	source, _ := Wrap("test", "A test", object, code, Optional{Permissions: permissions})
	s, err := Compile(t.Context(), "test.ts", source)
	check.OK(t, err)
	t.Cleanup(s.Close)
	return s
}

func call(t testing.TB, s *Script, args string) (tools.Result, error) {
	t.Helper()
	return s.Tool(nil, nil).Handle(t.Context(), tools.Call{Args: json.RawMessage(args)})
}

func TestFile(t *testing.T) {
	t.Parallel()
	s, err := Compile(t.Context(), "reverse_string.ts", []byte(reverse))
	check.OK(t, err)
	defer s.Close()
	tool := s.Tool(nil, nil)
	if tool.Name != "reverse_string" || tool.Description != "Reverse a string" || tool.Source != api.Dynamic || tool.Timeout != tools.DefaultTimeout+api.MachineWait || s.Permissions != nil || tool.Output != nil {
		t.Errorf("got %+v", tool)
	}
	if want := `{"properties":{"text":{"description":"Text to reverse","type":"string"}},"required":["text"],"type":"object"}`; string(tool.Input) != want {
		t.Errorf("the schema is %s", tool.Input)
	}
	got, err := call(t, s, `{"text":"abc"}`)
	check.OK(t, err)
	if want := (tools.Result{Structured: json.RawMessage(`{"reversed":"cba"}`)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %s", got.Structured, want.Structured)
	}
}

func TestOptionalMembers(t *testing.T) {
	t.Parallel()
	s, err := Compile(t.Context(), "a.ts", []byte(`
		import { DynamicTool } from './types';
		const later: number = 1500;
		export const tool: DynamicTool = {
			name: 'a', description: 'b', schema: { type: 'object' }, handler: (args) => args,
			outputSchema: { type: 'object', properties: {} },
			permissions: ['filesystem', 'network', 'network'],
			annotations: { title: 'T', readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: true },
			timeoutMs: later,
		};`))
	check.OK(t, err)
	defer s.Close()
	want := tools.Annotations{Title: "T", ReadOnly: true, Idempotent: true, Destructive: tools.No, OpenWorld: tools.Yes}
	if s.Annotations != want || s.Timeout != 1500*time.Millisecond || !slices.Equal(s.Permissions, []string{"filesystem", "network"}) || string(s.Output) != `{"properties":{},"type":"object"}` {
		t.Errorf("got %+v", s)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	tool := func(members string) string {
		return "\n export const tool = {name: 'a', description: 'b', schema: {type: 'object'}, handler() {}, " + members + "}"
	}
	for _, c := range []struct{ source, says string }{
		{"", `a.ts:1:1: the file must export a constant named tool, as in: export const tool = {...}; its exports are []`},
		{"export default {}", `a.ts:1:1: the file must export a constant named tool, as in: export const tool = {...}; its exports are ["default"]`},
		{"export const tool = 1", "a.ts:1:1: the exported tool must be an object, not a value of type number"},
		{"\n\n  export const tool = null", "a.ts:3:3: the exported tool must be an object, not a value of type null"},
		{tool("name: 'Not'"), `a.ts:2:2: the name of the tool must be 1 to 50 lower-case letters, digits and _ and begin with a letter, not "Not"`},
		{tool("name: undefined"), "not null"},
		{tool("name: 'a'.repeat(51)"), "the name of the tool"},
		{tool("description: ''"), "the description of the tool must be a text"},
		{tool("description: 1"), "the description of the tool must be a text"},
		{tool("handler: 1"), "the handler of the tool must be a function"},
		{tool("schema: undefined"), `the schema of the tool must be a JSON Schema whose type is "object"`},
		{tool("schema: {type: 'array'}"), `the schema of the tool must be a JSON Schema whose type is "object"`},
		{tool("outputSchema: true"), `the outputSchema of the tool must be a JSON Schema whose type is "object"`},
		{tool("permissions: 'network'"), "the permissions of the tool must be a list"},
		{tool("permissions: ['root']"), `there is no permission "root"; there are network and filesystem`},
		{tool("permissions: ['ai']"), `the permission "ai" is not available yet; use network or filesystem`},
		{tool("permissions: ['browser']"), `the permission "browser" is not available yet`},
		{tool("annotations: []"), "the annotations of the tool must be an object"},
		{tool("annotations: {title: 1}"), "the annotation title must be a text"},
		{tool("annotations: {readOnlyHint: 'yes'}"), "the annotation readOnlyHint must be true or false"},
		{tool("annotations: {readonly: true}"), `there is no annotation "readonly"`},
		{tool("timeoutMs: 0"), "timeoutMs of the tool must be a number from 1 to 600000, not 0"},
		{tool("timeoutMs: 600001"), "timeoutMs of the tool"},
		{tool("timeoutMs: '1'"), "timeoutMs of the tool"},
		{"export const tool = {\n  name: ;\n}", `a.ts:2:9: Unexpected ";"`},
		{"import fs from 'node:fs';\nexport const tool = {a: fs}", `a.ts:1:16: node:fs cannot be imported: a tool has no modules, only "import type"`},
		{"const a: number = 1;\n\nthrow new TypeError('no luck')", "a.ts:3:11: no luck"},
		{"throw 'text'", "a.ts: text"},
		{"interface A {}\nfunction f(): void {\n  missing();\n}\nf();", "a.ts:3:3: 'missing' is not defined"},
		{"await 1", "Top-level await"},
		{"for (;;) {}", "a.ts: the top level of the file did not end within 2s"},
		{"export const a = 'x'.repeat(20 << 20)", "a.ts:1:22: out of memory: the top level of a file has 16 MiB"},
		{"fetch('http://example.com')\n" + tool(""), ""},
		{"// " + strings.Repeat("x", maxSource), "a.ts: the file has 1048579 bytes; a tool has at most 1048576"},
		{strings.Repeat("(", 1<<19), "a.ts:1:1002: more than 1000 brackets are inside of each other here"},
		{"\x00", "Unexpected"},
	} {
		s, err := Compile(t.Context(), "a.ts", []byte(c.source))
		if c.says == "" {
			check.OK(t, err)
			s.Close()
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80q: %v; want %s", c.source, err, c.says)
		}
	}
}

func TestLargeFile(t *testing.T) {
	t.Parallel()
	source := "const data = '" + strings.Repeat("x", 1000_000) + "';\nexport const tool = {name: 'a', description: 'b', schema: {type: 'object'}, handler: () => data.length}"
	s, err := Compile(t.Context(), "a.ts", []byte(source))
	check.OK(t, err)
	defer s.Close()
	got, err := call(t, s, "")
	if err != nil || got.Text != "1000000" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, text, structured string }{
		{"return 'text'", "text", ""},
		{"return '{\"a\":1}'", `{"a":1}`, ""},
		{"return {a: 1, b: undefined}", "", `{"a":1}`},
		{"return args", "", `{"a":[1,"é👍",null]}`},
		{"return [1, 2]", "[1,2]", ""},
		{"return null", "null", ""},
		{"return 1.5", "1.5", ""},
		{"return false", "false", ""},
		{"return 2n ** 70n", "1180591620717411303424", ""},
		{"return undefined", "", ""},
		{"return () => 1", "", ""},
		{"return new Date(0)", `"1970-01-01T00:00:00.000Z"`, ""},
		{"return new Map([[1, 2]])", "", "{}"},
		{"return {toJSON() { return 'x' }}", `"x"`, ""},
		{"return {a: '\\ud800'}", "", `{"a":"\ud800"}`},
		{"return 'x'.repeat(1 << 20)", strings.Repeat("x", MaxOutput), ""},
		{"await null; await new Promise((r) => setTimeout(r, 1)); return 1", "1", ""},
		{"return new Promise((r) => queueMicrotask(() => r('micro')))", "micro", ""},
		{"enum E { A = 7 } type T = number; return E.A as T satisfies number", "7", ""},
		{"Promise.reject(new Error('nobody waits')); return 1", "1", ""},
		// A change of what the machine has must not confuse what was there before.
		{"JSON.stringify = JSON.parse = null; globalThis.setTimeout = null; return {a: 1}", "", `{"a":1}`},
	} {
		got, err := call(t, body(t, c.code), `{"a":[1,"é👍",null]}`)
		if err != nil || got.Text != c.text || string(got.Structured) != c.structured || got.IsError {
			t.Errorf("%s: %.100q %s, %v; want %.100q %s", c.code, got.Text, got.Structured, err, c.text, c.structured)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, says string
		lost       bool // the machine must not be used again
	}{
		{"throw new Error('boom')", "Tool: test\nError: boom\n\nStack trace:\nError: boom\n    at handler (test.ts:8:11)", false},
		{"const x: number = 1;\n\n  const f = () => { throw new TypeError('in f') };\nf();", "Tool: test\nError: in f\n\nStack trace:\nTypeError: in f\n    at f (test.ts:10:31)\n    at handler (test.ts:11:1)", false},
		{"await null; nothing()", "\nError: 'nothing' is not defined\n\nStack trace:\nReferenceError: 'nothing' is not defined\n    at handler (test.ts:8:13)", false},
		{"return new URL('x')", "\nError: invalid URL: \"x\"\n\nStack trace:\nTypeError: invalid URL: \"x\"\n    at handler (test.ts:8:12)", false},
		{"const p = new URLSearchParams(); p.set('a', 1); p.forEach(() => { throw new Error('e') })", "\nError: e\n\nStack trace:\nError: e\n    at <anonymous> (test.ts:8:77)\n    at handler (test.ts:8:51)", false},
		{"throw 'x'", "Tool: test\nError: x\n\nStack trace:\n", false},
		{"throw null", "\nError: a value that is not an Error was thrown: null\n", false},
		{"throw undefined", "\nError: a value that is not an Error was thrown: undefined\n", false},
		{"throw {a: 1}", "\nError: a value that is not an Error was thrown: {\"a\":1}\n", false},
		{"throw new Proxy({}, {get() { throw 1 }})", "that cannot be shown", false},
		{"return Promise.reject(new Error('late'))", "\nError: late\n", false},
		{"return {a: 1n}", "Error: Do not know how to serialize a BigInt", false},
		{"const a = {}; a.a = a; return a", "Error: circular reference", false},
		{"setTimeout(() => { throw new Error('in a timer') }, 1); await new Promise(() => {})", "\nError: in a timer\n", false},
		{"queueMicrotask(() => { throw new Error('in a job') }); await new Promise(() => {})", "\nError: in a job\n", false},
		{"const f = () => f() + 1; return f()", "\nError: stack overflow\n", false},
		{"return JSON.parse('['.repeat(1e6))", "\nError: stack overflow\n", false},
		{"return 'x'.repeat((1 << 20) + 1)", "\nError: the result is too large: a result has at most 1048576 bytes\n", false},
		{"return 'é'.repeat(600000)", "\nError: the result is too large: a result has at most 1048576 bytes\n", false},
		{"return {a: 'x'.repeat(10 << 20)}", "\nError: the result is too large: a result has at most 1048576 bytes\n", false},
		{"return 'x'.repeat(100 << 20)", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"const a = []; for (;;) a.push('x'.repeat(1000) + a.length)", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"globalThis.a = []; for (;;) a.push(new Array(1000).fill(1))", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"console.log('x'.repeat(50 << 20))", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"setTimeout(() => { const a = []; for (;;) a.push(new Array(1000).fill(1)) }, 1); await new Promise(() => {})", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"await null; const a = []; for (;;) a.push(new Array(1000).fill(1))", "\nError: out of memory: a tool has 64 MiB\n", true},
		{"await new Promise(() => {})", "\nError: the handler's promise can no longer settle: no timer and no call of fetch or fs is left that could settle it\n", true},
		{"for (;;) {}", "\nError: test did not end within 200ms\n", true},
		{"try { for (;;) {} } catch { for (;;) {} } finally { for (;;) {} }", "\nError: test did not end within 200ms\n", true},
		{"for (;;) { try { await Promise.reject(1) } catch {} }", "\nError: test did not end within 200ms\n", true},
		{"const f = () => Promise.resolve().then(f); f(); return 1", "\nError: test did not end within 200ms\n", true},
		{"await new Promise((r) => setTimeout(r, 1e12))", "\nError: test did not end within 200ms\n", true},
		{"const f = () => setTimeout(f); f(); await new Promise(() => {})", "\nError: test did not end within 200ms\n", true},
		{"return /^(?=a)(a+)+$/.test('a'.repeat(40) + 'b')", "\nError: test did not end within 200ms\n", true},
		{"for (;;) structuredClone({a: [1]})", "\nError: test did not end within 200ms\n", true},
		{"for (;;) console.log('x')", "\nError: test did not end within 200ms\n", true},
		{"return fetch('http://example.com')", "\nError: 'fetch' is not defined; the tool must declare permissions: ['network']\n", false},
		{"return fs.list()", "\nError: 'fs' is not defined; the tool must declare permissions: ['filesystem']\n", false},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := body(t, c.code)
			if strings.Contains(c.says, "did not end") {
				s.Timeout = 200 * time.Millisecond
			}
			_, err := call(t, s, "")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "Tool: test\nError: ") {
				t.Errorf("got %v; want %s", err, c.says)
			}
			if errors.Is(err, ErrStuck) {
				t.Error("the code could not be stopped")
			}
			if lost := len(s.pool.idle) == 0; lost != c.lost {
				t.Errorf("the machine is thrown away: %t, want %t", lost, c.lost)
			}
		})
	}
}

// TestDepth: calls nest as deep as in Node.
func TestDepth(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"const f = (n) => (n ? f(n - 1) + 1 : 0); return f(10_000)":         "10000",
		"const f = (n) => (n ? [n - 1].map(f)[0] + 1 : 0); return f(2_000)": "2000",
	} {
		got, err := call(t, body(t, code), "")
		if err != nil || got.Text != want {
			t.Errorf("%s: %s, %v", code, got.Text, err)
		}
	}
}

// A tool works on after a call that cost its machine.
func TestCallAfterFault(t *testing.T) {
	t.Parallel()
	s := body(t, "globalThis.calls = (globalThis.calls ?? 0) + 1; if (args.fail) for (;;) {} return calls")
	s.Timeout = 100 * time.Millisecond
	for _, c := range []struct{ args, text string }{{"{}", "1"}, {"{}", "2"}, {`{"fail":true}`, ""}, {"{}", "1"}} {
		got, err := call(t, s, c.args)
		if (err != nil) != (c.text == "") || got.Text != c.text {
			t.Errorf("%s: %q, %v; want %q", c.args, got.Text, err, c.text)
		}
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"console.log('began'); for (;;) {}", "console.log('began'); await new Promise((r) => setTimeout(r, 1e6))"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		withdrawn := errors.New("withdrawn")
		_, err := body(t, code).Tool(nil, func(string) { cancel(withdrawn) }).Handle(ctx, tools.Call{})
		if !errors.Is(err, withdrawn) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestOverlappingCalls: calls that overlap compute at once, and never more than maxComputing.
func TestOverlappingCalls(t *testing.T) {
	t.Parallel()
	s := body(t, "console.log('began'); return args")
	entered, open := make(chan struct{}), make(chan struct{})
	tool := s.Tool(nil, func(string) { entered <- struct{}{}; <-open })
	const calls = 3 * maxComputing
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			args := fmt.Sprintf(`{"i":%d}`, i)
			got, err := tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(args)})
			if err != nil || string(got.Structured) != args {
				t.Errorf("got %s, %v; want %s", got.Structured, err, args)
			}
		})
	}
	for range maxComputing {
		<-entered
	}
	select {
	case <-entered:
		t.Error("too many calls compute at once")
	default:
	}
	close(open)
	for range calls - maxComputing {
		<-entered
	}
	wg.Wait()
}

// TestWaitingCalls: calls that wait for a timer or a function do not keep others from the tool.
func TestWaitingCalls(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"await fs.readFile('gate')", "await new Promise((r) => setTimeout(r, 1e6))"} {
		s := body(t, "if (args.wait) { console.log('waits'); "+wait+" } return args", "filesystem")
		waits := make(chan struct{})
		tool := s.Tool(gate{entered: make(chan struct{}, 100)}, func(string) { waits <- struct{}{} })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 4 * maxComputing {
			wg.Go(func() { _, _ = tool.Handle(ctx, tools.Call{Args: json.RawMessage(`{"wait":true}`)}) }) // ends with ctx
			<-waits
		}
		got, err := tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
		if err != nil || string(got.Structured) != "{}" {
			t.Errorf("%s: %s, %v", wait, got.Structured, err)
		}
		if running, waiting := s.Calls(); running < 4*maxComputing || waiting != 0 {
			t.Errorf("%d calls run and %d wait", running, waiting)
		}
		cancel()
		wg.Wait()
	}
}

// TestTimeOfCalls: the time of a call begins when it has a machine, and the error of one that has none in time
// says that the call has not begun.
func TestTimeOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := body(t, "console.log(args.hold ?? ''); return 'done'")
		s.Timeout = 5 * time.Second
		busy := make(chan struct{})
		tool := s.Tool(nil, func(hold string) {
			if hold != "" {
				<-busy
			}
		})
		for range maxComputing {
			go func() { _, _ = tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(`{"hold":"x"}`)}) }() // ends when busy is closed
		}
		synctest.Wait()
		late := make(chan error, 1)
		go func() {
			_, err := tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
			late <- err
		}()
		synctest.Wait()
		if running, waiting := s.Calls(); running != maxComputing || waiting != 1 {
			t.Errorf("%d calls run and %d wait", running, waiting)
		}
		began := time.Now()
		if err := <-late; err == nil || !strings.Contains(err.Error(), "the call of test has not begun") || time.Since(began) != api.MachineWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		go func() {
			_, err := tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
			late <- err
		}()
		time.Sleep(2 * s.Timeout) // longer than the time of the call
		close(busy)
		check.OK(t, <-late)
		synctest.Wait()
		s.Close()
	})
}

func TestIdleMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := body(t, "return globalThis.calls = (globalThis.calls ?? 0) + 1")
		for _, want := range []string{"1", "2", "1"} {
			got, err := call(t, s, "")
			if err != nil || got.Text != want {
				t.Errorf("got %s, %v; want %s", got.Text, err, want)
			}
			if want == "2" {
				time.Sleep(maxIdle)
				synctest.Wait()
				if len(s.pool.idle) != 0 {
					t.Error("the machine is left")
				}
			}
		}
		s.Close()
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := body(t, "return 1")
	_, err := call(t, s, "")
	check.OK(t, err)
	for range 2 {
		s.Close()
		if len(s.pool.idle) != 0 {
			t.Error("a machine is left")
		}
		_, err := call(t, s, "")
		check.OK(t, err)
	}
}

// A gate keeps the calls of ReadFile until it is open.
type gate struct {
	api.Functions
	entered, open chan struct{}
}

func (g gate) ReadFile(ctx context.Context, _ string) ([]byte, error) {
	select {
	case g.entered <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// Code that the engine cannot interrupt is reported; its process has to end.
func TestStuck(t *testing.T) {
	t.Parallel()
	const mark = "BARECLAW_TEST_STUCK"
	if os.Getenv(mark) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestStuck$", "-test.v")
		child.Env = append(os.Environ(), mark+"=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "is stuck") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	s := body(t, "return [].indexOf.call({length: 2 ** 50}, 1)")
	s.Timeout = 100 * time.Millisecond
	_, err := call(t, s, "")
	if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "Error: test did not end within 100ms: the code of the tool cannot be stopped, and the tool host has to be restarted\n") {
		t.Fatal(err)
	}
	fmt.Println("is stuck")
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, text string }{
		{"return (() => {}).constructor('return globalThis')() === globalThis", "true"}, // where nothing has authority
		{"return ['eval', 'Function', 'process', 'Bun', 'Deno', 'std', 'os', 'fetch', 'fs', '__host', 'WebAssembly', 'Worker', 'XMLHttpRequest', 'scriptArgs'].filter((n) => n in globalThis)", "[]"},
		{"return Object.keys(globalThis)", "[]"},
		{"return Reflect.ownKeys((() => {}).constructor('return this')()).filter((n) => /host|shim/.test(String(n)))", "[]"},
		{"const load = (() => {}).constructor(['return im', 'port(\"os\")'].join('')); try { await load(); return 'loaded' } catch (e) { return 'refused' }", "refused"},
		{"try { require.call(null, 'fs'); return 'loaded' } catch (e) { return e.message }", `fs cannot be imported: a tool has no modules, only "import type"`},
		{"try { return arguments.callee.caller } catch (e) { return e.name }", "TypeError"},
		{"const s = new Error().stack; return s.includes('/')", "false"},
	} {
		got, err := call(t, body(t, c.code), "")
		if err != nil || got.Text != c.text {
			t.Errorf("%s: %q, %v; want %q", c.code, got.Text, err, c.text)
		}
	}
}

// What a tool does to its machine does not reach other tools.
func TestToolsAreApart(t *testing.T) {
	t.Parallel()
	bad := body(t, "Object.prototype.polluted = 1; globalThis.left = 1; Array.prototype.map = null; JSON.stringify = () => '{}'; return 1")
	_, err := call(t, bad, "")
	check.OK(t, err)
	got, err := call(t, body(t, "return [{}.polluted, globalThis.left, [1].map((x) => x + 1)]"), "")
	if want := "[null,null,[2]]"; err != nil || got.Text != want {
		t.Errorf("got %s, %v; want %s", got.Text, err, want)
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	var lines []string
	s := body(t, `console.log("a", {b: 1}, [undefined], 2n, null); console.error(new Error("e")); for (let i = 0; i < 100; i++) console.debug("x".repeat(20000));`)
	_, err := s.Tool(nil, func(l string) { lines = append(lines, l) }).Handle(t.Context(), tools.Call{})
	check.OK(t, err)
	want := []string{`a {"b":1} [null] 2 null`, "Error: e\n    at handler (test.ts:8:68)"}
	if len(lines) != 9 || !slices.Equal(lines[:2], want) || len(lines[2]) != 10000 || lines[8] != "more than 65536 bytes: the rest is left out" {
		t.Errorf("%d lines: %.300q", len(lines), lines)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	source, before := Wrap("a", "It's \"b\"\n</script>", json.RawMessage(`{"type":"object","properties":{"x":{}}}`), "const s = args.x as string;\nreturn s; // end", Optional{Permissions: []string{"network"}})
	want := `export const tool = {
  name: "a",
  description: "It's \"b\"\n</script>",
  schema: {
    "type": "object",
    "properties": {
      "x": {}
    }
  },
  permissions: ["network"],
  async handler(args: Record<string, any>) {
const s = args.x as string;
return s; // end
  },
};
`
	if string(source) != want || before != 11 {
		t.Errorf("%d lines before the code of:\n%s", before, source)
	}
	s, err := Compile(t.Context(), "a.ts", source)
	check.OK(t, err)
	s.Close()
	if s.Description != "It's \"b\"\n</script>" {
		t.Errorf("the description is %q", s.Description)
	}
	source, before = Wrap("a", "b", object, "const x = 1;\nreturn x +;", Optional{})
	_, err = Compile(t.Context(), "a.ts", source)
	e, _ := errors.AsType[*Error](err)
	if e == nil || e.Line-before != 2 || e.Column != 11 {
		t.Errorf("%v with %d lines before the code", err, before)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(reverse))
	f.Add([]byte("export const tool = {get name() { throw 1 }}"))
	f.Add([]byte("export const tool = {schema: new Proxy({}, {})}; /* `${ */"))
	f.Fuzz(func(t *testing.T, source []byte) {
		s, err := Compile(t.Context(), "a.ts", source)
		if err == nil {
			s.Close()
			return
		}
		if e, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("no *Error: %v", err)
		} else if n := lines(source); e.Line > n {
			t.Errorf("%v in a file of %d lines", err, n)
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		s, err := Compile(b.Context(), "reverse_string.ts", []byte(reverse))
		check.OK(b, err)
		s.Close()
	}
}

func BenchmarkStart(b *testing.B) {
	s, err := Compile(b.Context(), "reverse_string.ts", []byte(reverse))
	check.OK(b, err)
	for b.Loop() {
		m, err := s.machine(b.Context(), &run{code: s.code})
		check.OK(b, err)
		m.close()
	}
}

func BenchmarkCall(b *testing.B) {
	s, err := Compile(b.Context(), "reverse_string.ts", []byte(reverse))
	check.OK(b, err)
	defer s.Close()
	tool := s.Tool(nil, nil)
	for b.Loop() {
		_, err := tool.Handle(b.Context(), tools.Call{Args: json.RawMessage(`{"text":"abc"}`)})
		check.OK(b, err)
	}
}

// TestLargeMachine: a machine that holds much after a call does not wait for the next one.
func TestLargeMachine(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"globalThis.n = (globalThis.n ?? 0) + 1; return String(n)":                                                 "2",
		"globalThis.n = (globalThis.n ?? 0) + 1; globalThis.kept = new Array(1e6).fill(n); return String(n)":       "1",
		"globalThis.n = (globalThis.n ?? 0) + 1; let gone = new Array(1e6).fill(n); gone = null; return String(n)": "2",
	} {
		s := body(t, code)
		_, err := call(t, s, "")
		check.OK(t, err)
		if got, err := call(t, s, ""); err != nil || got.Text != want {
			t.Errorf("%s: the second call returns %s, %v; want %s", code, got.Text, err, want)
		}
	}
}

// TestIsBody: code that ends its function is no body, whatever follows.
func TestIsBody(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"":         true,
		"return 1": true,
		"const f = (x: number): number => x;\nreturn await f(args.a); // done": true,
		"return { name: 'other' };": true,
		"return `}`":                true,
		"return 1 }, name: 'other', async handler() {":          false,
		"return 1 }, get annotations() { return {}":             false,
		"return 1 }, ['name']: 'other', async handler() {":      false,
		"return 1 }, ...other, async handler() {":               false,
		"return 1 } }; export const other = { async handler(){": false,
		"return 1 /*": false,
	} {
		if got := IsBody(code); got != want {
			t.Errorf("%q: %t", code, got)
		}
	}
}
