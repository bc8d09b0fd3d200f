package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestTools: the registry has the tools of files and of the program when the Keeper has settled.
func TestTools(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.write("greet.ts", fileWith("greet", "Greet", "outputSchema: { type: 'object' }, timeoutMs: 2000, annotations: { title: 'Hi', readOnlyHint: true, idempotentHint: true },", "return { hello: args.name };"))
	r.run()
	<-r.Settled()
	got, ok := r.registry.Find("greet")
	want := tools.Annotations{Title: "Hi", ReadOnly: true, Idempotent: true}
	if !ok || got.Source != api.Dynamic || got.Annotations != want || string(got.Output) != `{"type":"object"}` || got.Timeout != 2*time.Second+api.MachineWait+extraTime {
		t.Errorf("greet is %+v", got)
	}
	if hello, ok := r.registry.Find("hello_world"); !ok || hello.Source != api.Builtin || hello.Timeout != tools.DefaultTimeout+extraTime {
		t.Errorf("hello_world is %+v", hello)
	}
	if create, _ := r.registry.Find("dynamic_tool_create"); create.Source != tools.Gateway {
		t.Errorf("dynamic_tool_create is %+v", create)
	}
	r.gives("greet", `{"name":"Ann"}`, `{"hello":"Ann"}`)
	r.gives(tools.CallName, `{"name":"greet","args":{"name":"Ann"}}`, `{"hello":"Ann"}`)
}

// TestEnd: the end of Run ends the process, also one that hangs. Calls are left to the next process of
// the gateway.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		r := start(t)
		c := r.state.child
		if hangs {
			check.OK(t, syscall.Kill(c.pid, syscall.SIGSTOP))
		}
		r.stop()
		select {
		case <-c.exited:
		case <-time.After(patience):
			t.Error("the process does not end")
		}
		began := time.Now()
		for _, name := range []string{"hello_world", "worker_restart"} {
			if result, err := r.registry.Call(t.Context(), name, tools.Call{Caller: tools.Caller{Channel: "tg-1"}}); !errors.Is(err, core.ErrClosed) {
				t.Errorf("%s is not left to the next process: %+v, %v", name, result, err)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("refused after %s", took)
		}
		if s := r.now(); s.PID != 0 || s.Health != nil || s.Healthy {
			t.Errorf("the state is %+v", s)
		}
	}
}

// TestEndBeforeReady: a call of a tool that is not known yet, or waits for the tool host, is left to the next
// process, and has not begun.
func TestEndBeforeReady(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Run(ctx, r.registry)
	if _, err := r.registry.Call(t.Context(), "hello_world", tools.Call{}); !errors.Is(err, core.ErrClosed) {
		t.Errorf("an unknown tool: %v", err)
	}
	if _, err := r.offer.toolOf(api.Tool{Tool: tools.Tool{Name: "act"}}).Handle(t.Context(), tools.Call{}); !errors.Is(err, tools.ErrNotBegun) {
		t.Errorf("a call that waits: %v", err)
	}
}

// TestStatus holds the shape of worker_status, before and after the start.
func TestStatus(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	golden(t, "status_before.json", string(r.call("worker_status", `{}`).Structured))
	r.run()
	<-r.Settled()
	golden(t, "status.json", string(r.call("worker_status", `{}`).Structured))
	s := r.now()
	if !s.Healthy || s.PID <= 0 || time.Since(s.StartedAt.Time) > time.Minute || s.Health.ToolCount != r.offer.count() {
		t.Errorf("the state is %+v", s)
	}
}

// TestTexts holds what the management tools say.
func TestTexts(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("mine.ts", file("mine", "Mine", "return 1;"))
	r.offers("mine", "Mine")
	var texts []string
	for _, c := range [][2]string{
		{"worker_snapshot", `{"name":"before_refactor"}`},
		{"dynamic_tool_delete", `{"name":"mine"}`},
		{"worker_rollback", `{}`},
		{"worker_snapshots", `{}`},
		{"worker_restart", `{}`},
		{"dynamic_tool_create", `{"name":"made","description":"Made","schema":{"type":"object"},"code":"return 1"}`},
	} {
		got := r.call(c[0], c[1])
		if got.IsError || got.Structured != nil {
			t.Errorf("%s: %s", c[0], shortened(got))
		}
		texts = append(texts, got.Text)
	}
	golden(t, "texts.txt", strings.Join(texts, "\n"))
	r.offers("mine", "Mine")
}

// TestEarlyCall: calls wait for the tool host to start, also those of tools that are not known before.
func TestEarlyCall(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	done := make(chan tools.Result)
	go func() { done <- r.call("worker_restart", `{}`) }()
	go func() { done <- r.call(tools.CallName, `{"name":"hello_world"}`) }()
	r.run()
	for range 2 {
		if got := <-done; got.IsError {
			t.Error(shortened(got))
		}
	}
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
}

// TestReplaceWhileDown: a restart that is asked for while no tool host runs ends with its caller.
func TestReplaceWhileDown(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.replace(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

var (
	anyID     = regexp.MustCompile(`_\d{13}\b`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	anyNumber = regexp.MustCompile(`("(?:pid|uptime|heapUsed|heapTotal)": ?)\d+`)
	anyDir    = regexp.MustCompile(`("toolsDir": ?)"[^"]+"`)
	anyCount  = regexp.MustCompile(`("toolCount": ?|\()\d+( tools)?`)
)

// golden compares a text, without what differs from run to run, with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if strings.HasSuffix(name, ".json") {
		var v any
		if err := json.Unmarshal([]byte(got), &v); err != nil {
			t.Fatalf("%s: %v: %s", name, err, got)
		}
	}
	for form, as := range map[*regexp.Regexp]string{anyID: "_<ms>", anyTime: "<time>", anyNumber: "$1<number>", anyDir: `$1"<dir>"`, anyCount: "$1<count>$2"} {
		got = form.ReplaceAllString(got, as)
	}
	got = strings.TrimSpace(got) + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		check.OK(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	check.OK(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(-update writes it)", name, got, want)
	}
}

// TestMoment: the milliseconds are shown also if they are zero.
func TestMoment(t *testing.T) {
	t.Parallel()
	for nanos, want := range map[int]string{0: "000", 240_000_000: "240", 1_999_999: "001"} {
		at := time.Date(2026, 1, 23, 15, 0, 0, nanos, time.FixedZone("", 3600))
		if b, err := json.Marshal(Status{StartedAt: &Moment{at}}); err != nil || !strings.Contains(string(b), `"startedAt":"2026-01-23T14:00:00.`+want+`Z"`) {
			t.Errorf("got %s, %v", b, err)
		}
	}
}
