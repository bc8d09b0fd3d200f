package toolhost

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestWaitingCallsOfOthers: calls of one session that wait do not hold up another session's call of the tool.
func TestWaitingCallsOfOthers(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("slow.ts", file("slow", "Slow", "if (args.ms) { console.log('begun'); await new Promise((done) => setTimeout(done, args.ms)); } return 'done';"))
	r.offers("slow", "Slow")
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			_, _ = r.registry.Call(ctx, "slow", tools.Call{Caller: tools.Caller{Channel: "tg-1"}, Args: []byte(`{"ms":29000}`)})
		}) // ends with ctx
	}
	r.eventually("all wait", func() bool { return strings.Count(r.log.String(), "line=begun") == 8 })
	got, err := r.registry.Call(t.Context(), "slow", tools.Call{Caller: tools.Caller{Channel: "tg-2"}})
	if err != nil || got.Text != "done" || ctx.Err() != nil {
		t.Errorf("%s, %v", shortened(got), err)
	}
	cancel()
	calls.Wait()
}

// TestBusyTools: worker_status says of which tools calls wait for a machine, as for those of calls that hold much
// memory while they wait.
func TestBusyTools(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("busy.ts", file("busy", "Busy", "const kept = new Array(1e6).fill(0); await new Promise((done) => setTimeout(done, 1e6)); return kept.length;"))
	r.offers("busy", "Busy")
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() { _, _ = r.registry.Call(ctx, "busy", tools.Call{Caller: tools.Caller{Channel: "tg-1"}}) }) // ends with ctx
	}
	r.eventually("two calls wait", func() bool {
		s := r.now()
		return s.Health != nil && slices.Equal(s.Health.Busy, []api.Busy{{Tool: "busy", Running: 4, Waiting: 2}})
	})
	cancel()
	calls.Wait()
	r.eventually("none waits", func() bool { s := r.now(); return s.Health != nil && s.Health.Busy == nil })
}

// TestFaultsOfMadeTools: the error of a tool that was made points into the code that was given, and names what a
// tool lacks.
func TestFaultsOfMadeTools(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, c := range []struct{ code, says, at string }{
		{"const a = 1;\nreturn process.env.HOME;", "Error: process is not available in a tool", "(code:2:8, made.ts:"},
		{"return Buffer.nope(1);", "Error: Buffer.nope is not a function in a tool: Buffer has alloc", "(code:1:15, made.ts:"},
		{"const text = args.text;\n\n  return text();", "Error: text is not a function", "(code:3:"},
		{"return (5).toLocaleString('de-DE');", "Error: the locale de-DE is not available in a tool: there is en-US only", "(code:1:12, made.ts:"},
		{"return new Blob(['x']);", "Error: Blob is not available in a tool, which has console, timers", "(code:1:"},
	} {
		if got := r.call("dynamic_tool_create", creation(t, "made", c.code)); got.IsError {
			t.Fatal(shortened(got))
		}
		r.refuses("made", `{}`, c.says, c.at)
	}
}

// TestMoneyAndDates: what formats money, dates and names for people gives what Node gives.
func TestMoneyAndDates(t *testing.T) {
	t.Parallel()
	r := start(t)
	const code = `return [
		(1234567.891).toLocaleString("en-US", { style: "currency", currency: "USD" }),
		new Date("2024-03-05T15:04:00Z").toLocaleString("en-US", { timeZone: "America/New_York" }),
		new Date("2024-03-05T15:04:00Z").toLocaleDateString("en-US", { weekday: "long", year: "numeric", month: "long", day: "numeric", timeZone: "UTC" }),
		["C", "Z", "a", "b", "e", "ä", "é"].sort((a, b) => a.localeCompare(b)).join(" "),
	].join("; ");`
	if got := r.call("dynamic_tool_create", creation(t, "formats", code)); got.IsError {
		t.Fatal(shortened(got))
	}
	r.gives("formats", `{}`, "$1,234,567.89; 3/5/2024, 10:04:00 AM; Tuesday, March 5, 2024; a ä b C e é Z")
}

// TestOneChecker: arguments of built-in tools and of files are refused in the same words.
func TestOneChecker(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("waits.ts", strings.Replace(file("waits", "Waits", "return 1;"), "{ type: 'object' }", "{ type: 'object', properties: { ms: { type: 'number', maximum: 30000 } }, additionalProperties: false }", 1))
	r.offers("waits", "Waits")
	for _, args := range []string{`{"ms":30001}`, `{"ms":"1"}`, `{"ms":1,"other":2}`} {
		builtin, dynamic := r.call("wait_ms", args), r.call("waits", args)
		_, want, _ := strings.Cut(builtin.Text, "do not fit its schema: ")
		_, got, found := strings.Cut(dynamic.Text, "do not fit its schema: ")
		if !builtin.IsError || !found || got != want {
			t.Errorf("%s: %s; the file says %s", args, builtin.Text, dynamic.Text)
		}
	}
}

// TestMaker: the file of a tool says who has made it, also if that was no session.
func TestMaker(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, c := range []struct {
		channel core.ChannelKey
		want    string
	}{{"tg-1", `by channel "tg-1", `}, {"", "by a client outside of sessions, "}} {
		got, err := r.registry.Call(t.Context(), "dynamic_tool_create", tools.Call{Caller: tools.Caller{Channel: c.channel}, Args: []byte(creation(t, "made", "return 1"))})
		check.OK(t, err)
		b, err := os.ReadFile(r.path("made.ts"))
		if err != nil || got.IsError || !strings.HasPrefix(string(b), "// Made with dynamic_tool_create "+c.want) {
			t.Errorf("%s; %.100s, %v", shortened(got), b, err)
		}
	}
}

// TestCreateWithoutDirectory: a tool can be made in the moment in which the directory was deleted.
func TestCreateWithoutDirectory(t *testing.T) {
	t.Parallel()
	r := start(t)
	for range 3 {
		check.OK(t, os.RemoveAll(r.dir))
		r.gives("dynamic_tool_create", creation(t, "made", "return 'one'"), `Tool 'made' created successfully. Call it now: tool_call with name "made".`)
		r.gives("made", `{}`, "one")
	}
}
