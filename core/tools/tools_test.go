package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

var anyObject = json.RawMessage(`{"type":"object"}`)

// echo returns its arguments.
func echo(name string) Tool {
	return Tool{Name: name, Description: "Echo " + name, Input: anyObject, ByName: true, Handle: func(_ context.Context, c Call) (Result, error) {
		return Result{Structured: c.Args}, nil
	}}
}

// A lists is a registry with lists of tools.
type lists struct {
	*Registry
	builtin, dynamic *List
}

// newLists returns a registry whose dynamic tools are all.
func newLists(t *testing.T, o Options, all ...Tool) *lists {
	t.Helper()
	l := &lists{builtin: NewList("builtin"), dynamic: NewList("dynamic")}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Sources = append(o.Sources, Dispatchers(), l.builtin, l.dynamic)
	var err error
	l.Registry, err = NewRegistry(o)
	check.OK(t, err)
	check.OK(t, l.dynamic.Replace(all))
	return l
}

func registry(t *testing.T, policy Policy, all ...Tool) *Registry {
	t.Helper()
	return newLists(t, Options{Policy: policy}, all...).Registry
}

// TestSources: a source of any name is counted, also while it has no tools, and the tools of a
// source that never changes must be fit from the start.
func TestSources(t *testing.T) {
	t.Parallel()
	o := Options{Log: slog.New(slog.DiscardHandler), Sources: []Source{Dispatchers(), NewList("mounted"), Fixed("worker", echo("a"), echo("b")), Fixed("worker", echo("c"))}}
	r, err := NewRegistry(o)
	check.OK(t, err)
	if n := r.Count(); len(n) != 3 || n[Gateway] != 2 || n["worker"] != 3 || n["mounted"] != 0 {
		t.Errorf("the tools by source: %v", n)
	}
	o.Sources = append(o.Sources, Fixed("other", echo("a")))
	if _, err := NewRegistry(o); err == nil || !strings.Contains(err.Error(), `the worker tool "a" has its name`) {
		t.Errorf("two sources have a tool of the same name: %v", err)
	}
	if err := NewList("alone").Replace(nil); err == nil {
		t.Error("a list without a registry has taken tools")
	}
}

func TestUnfitTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Tool)
		says   string
	}{
		{func(t *Tool) { t.Name = "" }, "a name is"},
		{func(t *Tool) { t.Name = strings.Repeat("x", toolset.MaxName+1) }, "a name is"},
		{func(t *Tool) { t.Name = "two words" }, "a name is"},
		{func(t *Tool) { t.Input = nil }, "not a JSON object"},
		{func(t *Tool) { t.Input = json.RawMessage(`[]`) }, "not a JSON object"},
		{func(t *Tool) { t.Input = json.RawMessage(`{"anyOf":[{"type":"object"}]}`) }, `must be "object"`},
		{func(t *Tool) { t.Handle = nil }, "no handler"},
	} {
		bad := echo("other")
		c.change(&bad)
		r := newLists(t, Options{}, echo("a.b"))
		if err := r.builtin.Replace([]Tool{bad}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", bad.Name, err, c.says)
		}
		if n := len(r.List(View{})); n != 3 {
			t.Errorf("%d tools after a refusal", n)
		}
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	strict := echo("strict")
	strict.Input = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	failing := echo("failing")
	failing.Handle = func(context.Context, Call) (Result, error) { return Result{}, errors.New("no luck") }
	panicking := echo("panicking")
	panicking.Handle = func(context.Context, Call) (Result, error) { panic("a fault") }
	r := registry(t, fakePolicy{tools: "strict,panicking,anything"}, strict, failing, panicking, echo("anything"))
	for _, c := range []struct{ tool, args, text, structured string }{
		{"strict", `{"n":1}`, "", `{"n":1}`},
		{"strict", `{"n":"1"}`, `/n`, ""},
		{"strict", `{}`, `"n"`, ""},
		{"strict", `{"n":1,"m":2}`, `"m"`, ""},
		{"strict", `[`, "are no JSON", ""},
		{"failing", ``, "no luck", ""},
		{"panicking", ``, "failed by an error of the gateway", ""},
		{"anything", ``, "", `{}`},
		{CallName, `{"name":"strict","args":{"n":2}}`, "", `{"n":2}`},
		{CallName, `{"name":"strict","args":{"n":2.5}}`, "/n", ""},
		{CallName, `{"name":"strct"}`, "did you mean strict?", ""},
		{CallName, `{"name":"tool_search","args":{"query":""}}`, "by its own name only", ""},
		{CallName, `{"nam":"strict"}`, `"name"`, ""},
	} {
		got, err := r.Call(t.Context(), c.tool, Call{Args: json.RawMessage(c.args)})
		if err != nil || got.IsError != (c.structured == "") || !strings.Contains(got.Text, c.text) || string(got.Structured) != c.structured {
			t.Errorf("%s %s: %+v, %v; want %q %q", c.tool, c.args, got, err, c.text, c.structured)
		}
	}
	if _, err := r.Call(t.Context(), "none", Call{}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := r.Call(t.Context(), "failing", Call{Caller: r.Session("c", "", "", 0)}); !errors.Is(err, ErrUnknown) {
		t.Errorf("a session called a tool that sessions may not use: %v", err)
	}
	got, err := r.Call(t.Context(), CallName, Call{Caller: r.Session("c", "", "", 0), Args: json.RawMessage(`{"name":"failing"}`)})
	if err != nil || !strings.Contains(got.Text, "there is no tool") || strings.Contains(got.Text, "mean failing") {
		t.Errorf("by name: %+v, %v", got, err)
	}
}

// TestEndsOfCalls: each call is in the log, and counted by its outcome.
func TestEndsOfCalls(t *testing.T) {
	t.Parallel()
	failing := echo("failing")
	failing.Handle = func(context.Context, Call) (Result, error) { return Result{}, errors.New("no luck") }
	var log strings.Builder
	var ends []string
	r := newLists(t, Options{
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Ended: func(e CallEnd) { ends = append(ends, e.Source+" "+string(e.Outcome)) },
	})
	check.OK(t, r.builtin.Replace([]Tool{echo("good"), failing}))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx        context.Context
		tool, args string
	}{{t.Context(), "good", "{}"}, {t.Context(), "good", "["}, {t.Context(), "failing", "{}"}, {cancelled, "failing", "{}"}, {t.Context(), "unknown", "{}"}} {
		_, _ = r.Call(c.ctx, c.tool, Call{Caller: Caller{Channel: "desk"}, Args: json.RawMessage(c.args)})
	}
	if got := strings.Join(ends, ", "); got != "builtin ok, builtin not_begun, builtin failed, builtin cancelled" {
		t.Errorf("the calls ended with %s", got)
	}
	if n := strings.Count(log.String(), "channel=desk"); n != len(ends) || !strings.Contains(log.String(), "tool=failing source=builtin channel=desk took=") {
		t.Errorf("the log is\n%s", log.String())
	}
}

func TestSlowTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := echo("slow")
		slow.Timeout = time.Second
		slow.Handle = func(ctx context.Context, _ Call) (Result, error) {
			<-ctx.Done()
			return Result{}, context.Cause(ctx)
		}
		r := registry(t, nil, slow)
		began := time.Now()
		got, err := r.Call(t.Context(), "slow", Call{})
		if err != nil || !got.IsError || !strings.Contains(got.Text, "did not end within 1s") || time.Since(began) != time.Second {
			t.Errorf("%+v, %v after %s", got, err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("withdrawn"))
		if _, err := r.Call(ctx, "slow", Call{}); err == nil || err.Error() != "withdrawn" {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	compare := echo("json_diff")
	compare.Description = "Compare two documents"
	format := echo("json_format")
	format.Description = "Indent one document"
	r := registry(t, fakePolicy{tools: "json_diff,json_format"}, compare, format, echo("secret"))
	for query, want := range map[string]string{
		"":             "json_diff json_format tool_call tool_search",
		"json":         "json_diff json_format",
		"Compare JSON": "json_diff json_format",
		"compare":      "json_diff",
		"secret":       "",
		"???":          "json_diff json_format tool_call tool_search",
	} {
		args, err := json.Marshal(map[string]string{"query": query})
		check.OK(t, err)
		got, err := r.Call(t.Context(), SearchName, Call{Caller: r.Session("c", "", "", 0), Args: args})
		check.OK(t, err)
		var list struct {
			Tools []found `json:"tools"`
		}
		check.OK(t, json.Unmarshal(got.Structured, &list))
		var names []string
		for _, f := range list.Tools {
			names = append(names, f.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%q finds %q, want %q", query, names, want)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{})
	w := r.Watch()
	check.OK(t, r.dynamic.Replace([]Tool{echo("b"), echo("a")}))
	select {
	case <-w:
	default:
		t.Error("the change is not told")
	}
	check.OK(t, r.dynamic.Replace([]Tool{echo("a")}))
	if _, ok := r.Find("b"); ok || len(r.List(View{})) != 3 {
		t.Errorf("tools are %v", r.List(View{}))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good, bad := echo("a"), echo("a")
	bad.Input = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"("}}}`)
	check.OK(t, good.Check())
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a schema with a broken pattern: %v", err)
	}
	if result, err := registry(t, nil, bad).Call(t.Context(), "a", Call{}); err != nil || !result.IsError {
		t.Errorf("a call with such a schema: %+v, %v", result, err)
	}
}

func TestToolMovesToAnotherSource(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{}, echo("a"), echo("b"))
	check.OK(t, ReplaceAll(map[*List][]Tool{r.dynamic: {echo("b")}, r.builtin: {echo("a")}}))
	if a, _ := r.Find("a"); a.Source != "builtin" {
		t.Errorf("the source is %s", a.Source)
	}
}

// TestCategories: each tool has a category, and checks and data are utilities wherever they come from.
func TestCategories(t *testing.T) {
	t.Parallel()
	page, check, data := echo("open_page"), echo("assert_page"), echo("data_page")
	page.Category, check.Category, data.Category = Browser, Browser, Browser
	r := newLists(t, Options{}, page, check, data, echo("any"))
	for name, want := range map[string]Category{"open_page": Browser, "assert_page": Utility, "data_page": Utility, "any": Utility, SearchName: Meta, CallName: Meta} {
		if tool, _ := r.Find(name); tool.Category != want {
			t.Errorf("%s is for %s, want %s", name, tool.Category, want)
		}
	}
}

// TestClash: of two tools with one name that of the earlier source is offered, whichever comes first,
// and the other one when the name is free.
func TestClash(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{}, echo("a.b"), echo("c"), echo(SearchName))
	offered := func(want string, clashes ...Clash) {
		t.Helper()
		var got []string
		for _, tool := range r.List(View{}) {
			if tool.Source != Gateway {
				got = append(got, tool.Source+" "+tool.Name)
			}
		}
		if all := strings.Join(got, ", "); all != want || !slices.Equal(r.Clashes(), clashes) {
			t.Errorf("the tools are %s, and %v are left out; want %s, and %v", all, r.Clashes(), want, clashes)
		}
	}
	search := Clash{SearchName, "dynamic", SearchName, Gateway}
	offered("dynamic a.b, dynamic c", search)
	check.OK(t, r.builtin.Replace([]Tool{echo("a_b")}))
	offered("builtin a_b, dynamic c", Clash{"a.b", "dynamic", "a_b", "builtin"}, search)
	if result, err := r.Call(t.Context(), "a.b", Call{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("the tool that is left out returns %v, %v", result, err)
	}
	check.OK(t, r.builtin.Replace(nil))
	offered("dynamic a.b, dynamic c", search)
	if n := r.Count(); n["dynamic"] != 2 || n["builtin"] != 0 {
		t.Errorf("the tools by source: %v", n)
	}
	check.OK(t, r.dynamic.Replace([]Tool{echo("x"), echo("y.z"), echo("y_z")}))
	offered("dynamic x, dynamic y.z", Clash{"y_z", "dynamic", "y.z", "dynamic"})
}

// A lateSource has no tools yet.
type lateSource func(ctx context.Context, name string) error

func (lateSource) Name() string                                   { return "late" }
func (lateSource) Tools(*Registry) []Tool                         { return nil }
func (l lateSource) Await(ctx context.Context, name string) error { return l(ctx, name) }
func (lateSource) WhyMissing(string) string                       { return "" }

func TestCallWaitsForToolsToCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		complete := make(chan struct{})
		late := lateSource(func(context.Context, string) error {
			<-complete
			return nil
		})
		r := newLists(t, Options{Sources: []Source{late}})
		results := make(chan error, 3)
		for _, name := range []string{"late", "never"} {
			go func() {
				_, err := r.Call(t.Context(), name, Call{})
				results <- err
			}()
		}
		synctest.Wait()
		check.OK(t, r.builtin.Replace([]Tool{echo("late")}))
		if len(results) != 0 {
			t.Error("a call ended before all tools were known")
		}
		close(complete)
		first, second := <-results, <-results
		if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), ErrUnknown) {
			t.Errorf("the calls end with %v and %v", first, second)
		}
	})
}

// TestLongCallByName: a tool that is called by tool_call has its own time.
func TestLongCallByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := echo("slow")
		slow.Timeout = 10 * time.Minute
		slow.Handle = func(context.Context, Call) (Result, error) {
			time.Sleep(9 * time.Minute)
			return Result{Text: "well"}, nil
		}
		r := registry(t, nil, slow)
		if got, err := r.Call(t.Context(), CallName, Call{Args: json.RawMessage(`{"name":"slow"}`)}); err != nil || got.Text != "well" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestToolsThatDoNotCome: an unknown tool may be one that is still to come, so the call is left to
// the next process, or says why the tool does not come.
func TestToolsThatDoNotCome(t *testing.T) {
	t.Parallel()
	why := core.ErrClosed
	late := lateSource(func(context.Context, string) error { return why })
	r := newLists(t, Options{Sources: []Source{late}})
	for _, c := range []Call{{}, {Args: json.RawMessage(`{"name":"late"}`)}} {
		name := "late"
		if c.Args != nil {
			name = CallName
		}
		why = core.ErrClosed
		if _, err := r.Call(t.Context(), name, c); !errors.Is(err, core.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		why = errors.New("out of order")
		if got, err := r.Call(t.Context(), name, c); err != nil || !got.IsError || !strings.Contains(got.Text, "out of order") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestLargeArguments: of large arguments few are checked at once, while small ones do not wait; a call that
// waits ends with its caller.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, nil, echo("a"))
		large := json.RawMessage(`{"text":"` + strings.Repeat("x", largeArgs) + `"}`)
		for range cap(r.checks) {
			r.checks <- struct{}{} // a check at work
		}
		ctx, cancel := context.WithCancel(t.Context())
		outcome := make(chan error)
		go func() {
			_, err := r.Call(ctx, "a", Call{Args: large})
			outcome <- err
		}()
		synctest.Wait()
		if got, err := r.Call(t.Context(), "a", Call{Args: json.RawMessage(`{}`)}); err != nil || got.IsError {
			t.Errorf("small: %+v, %v", got, err)
		}
		cancel()
		if err := <-outcome; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: %v", err)
		}
		go func() {
			_, err := r.Call(t.Context(), "a", Call{Args: large})
			outcome <- err
		}()
		synctest.Wait()
		select {
		case err := <-outcome:
			t.Fatalf("checked at once: %v", err)
		default:
		}
		<-r.checks
		if err := <-outcome; err != nil {
			t.Error(err)
		}
		if len(r.checks) != cap(r.checks)-1 {
			t.Errorf("%d checks at work", len(r.checks))
		}
	})
}
