package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// A fakeAsker has a person decide.
type fakeAsker struct {
	decide func(core.CallRequest) (core.Approval, error)
	asked  []core.CallRequest
}

func (f *fakeAsker) AskCall(_ context.Context, r core.CallRequest) (core.Approval, error) {
	f.asked = append(f.asked, r)
	a, err := f.decide(r)
	if a.Input == nil {
		a.Input = r.Input
	}
	return a, err
}

// askingTool is the tool act, which acts on the channel boss.
func askingTool(handle Handler) Tool {
	t := echo("act")
	t.Reach = func(context.Context, Call) (core.ChannelKey, error) { return "boss", nil }
	t.Handle = handle
	return t
}

// TestGate has a session call a tool that reaches too far, in each way in which people can decide.
func TestGate(t *testing.T) {
	t.Parallel()
	decided := func(a core.Approval) func(core.CallRequest) (core.Approval, error) {
		return func(core.CallRequest) (core.Approval, error) { return a, nil }
	}
	fails := func(err error) func(core.CallRequest) (core.Approval, error) {
		return func(core.CallRequest) (core.Approval, error) { return core.Approval{}, err }
	}
	for name, c := range map[string]struct {
		decide  func(core.CallRequest) (core.Approval, error)
		mode    string
		request string
		asked   int
		says    string
		err     error
	}{
		"allowed":                {decided(core.Approval{State: core.ApprovalAllowed}), "plan", "r", 1, `{"n":1}`, nil},
		"allowed with changes":   {decided(core.Approval{State: core.ApprovalAllowed, Input: json.RawMessage(`{"n":2}`)}), "plan", "r", 1, `{"n":2}`, nil},
		"denied":                 {decided(core.Approval{State: core.ApprovalDenied}), "plan", "r", 1, "act was not carried out: a person has refused it", nil},
		"denied with a word":     {decided(core.Approval{State: core.ApprovalDenied, Reason: "not now"}), "plan", "r", 1, "and says: not now", nil},
		"nobody answers":         {decided(core.Approval{State: core.ApprovalExpired}), "plan", "r", 1, "nobody has allowed it in time", nil},
		"the turn ends":          {decided(core.Approval{State: core.ApprovalVoid}), "plan", "r", 1, "the turn ended", nil},
		"nobody can be asked":    {fails(core.ErrCannotAsk), "plan", "r", 1, "act is refused: your channel has the permission mode plan", nil},
		"the gateway ends":       {fails(core.ErrClosed), "plan", "r", 1, "", core.ErrClosed},
		"a mode that never asks": {decided(core.Approval{State: core.ApprovalAllowed}), "dontAsk", "r", 0, "act is refused", nil},
		"outside of sessions":    {decided(core.Approval{State: core.ApprovalAllowed}), "plan", "", 0, "act is refused", nil},
		"nothing to ask":         {decided(core.Approval{State: core.ApprovalDenied}), "bypassPermissions", "r", 0, `{"n":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asker := &fakeAsker{decide: c.decide}
			policy := fakePolicy{own: map[core.ChannelKey]string{}}.with("boss", "bypassPermissions").with("c", c.mode)
			act := askingTool(func(_ context.Context, c Call) (Result, error) { return Result{Text: string(c.Args)}, nil })
			r := newLists(t, Options{Policy: policy, Asker: asker}, act)
			for _, tool := range []string{"act", CallName} {
				asker.asked = nil
				call := Call{Caller: r.Session("c", "s", "turn", 0), ID: "1", RequestID: c.request, Args: json.RawMessage(`{"n":1}`)}
				if tool == CallName {
					call.Args = json.RawMessage(`{"name":"act","args":{"n":1}}`)
				}
				got, err := r.Call(t.Context(), tool, call)
				if !errors.Is(err, c.err) || !strings.Contains(got.Text, c.says) || len(asker.asked) != c.asked {
					t.Errorf("%s: %+v, %v, and asked %d times", tool, got, err, len(asker.asked))
				}
				if again := (*CutError)(nil); c.err != nil && (!errors.As(err, &again) || !again.Again || !again.Asked || !strings.Contains(err.Error(), "act, which was not carried out: call it again")) {
					t.Errorf("%s: the session does not learn that it may call again: %v", tool, err)
				}
				for _, q := range asker.asked {
					if q.Tool != "mcp__bareclaw__act" || string(q.Input) != `{"n":1}` || q.Channel != "c" || q.RequestID != "r" || !strings.Contains(q.Why, `channel "boss"`) {
						t.Errorf("asked %+v", q)
					}
				}
			}
		})
	}
}

// TestRefusalSaysWhatToDo: where nobody can be asked, the refusal names what applies.
func TestRefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const start = "act is refused: a person must allow it, and nobody can be asked here. What a person can do: "
	for name, c := range map[string]struct {
		mode, unasked, want string
	}{
		"a built-in tool": {"default", "", start + "call it from a chat whose people are asked; or set X"},
		"a mounted tool":  {"default", "allow it", start + "call it from a chat whose people are asked; or set X; or allow it"},
		"dontAsk":         {"dontAsk", "allow it", start + "choose another permission mode than dontAsk, in which nobody is asked; or allow it"},
	} {
		act := echo("act")
		act.Reach = ReachOwn
		act.Asks = func() Ask { return Ask{Needed: true, RunUnasked: c.unasked} }
		policy := fakePolicy{own: map[core.ChannelKey]string{"c": c.mode}}
		r := newLists(t, Options{Policy: policy, AskPeople: "set X"}, act)
		got, err := r.Call(t.Context(), "act", Call{Caller: r.Session("c", "s", "turn", 0), ID: "1", RequestID: "r"})
		if err != nil || got.Text != c.want {
			t.Errorf("%s: %q, %v", name, got.Text, err)
		}
	}
}

// TestWhoIsAsked: the tool hears that a person has allowed its call, and the client that one is asked.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for _, state := range []core.ApprovalState{core.ApprovalAllowed, core.ApprovalDenied} {
		var allowed, asked []string
		act := echo("act")
		act.Reach = ReachOwn
		act.Asks = func() Ask {
			return Ask{Needed: true, Allowed: func(context.Context) { allowed = append(allowed, "act") }}
		}
		asker := &fakeAsker{decide: func(r core.CallRequest) (core.Approval, error) {
			r.Asked()
			return core.Approval{State: state}, nil
		}}
		r := newLists(t, Options{Asker: asker}, act)
		call := Call{
			Args:  json.RawMessage(`{"name":"act","args":{}}`),
			Asked: func(approval string) { asked = append(asked, approval) },
		}
		_, err := r.Call(t.Context(), CallName, call)
		check.OK(t, err)
		if len(asked) != 1 || asked[0] != asker.asked[0].ID || len(allowed) == 1 != (state == core.ApprovalAllowed) {
			t.Errorf("%s: the client hears of %q, the tool of %q", state, asked, allowed)
		}
	}
}

// keptRecords are records in memory, by key.
type keptRecords map[string]core.Record

func (k keptRecords) Record(_ context.Context, _, key string) (core.Record, error) {
	r, ok := k[key]
	if !ok {
		return r, core.ErrNotFound
	}
	return r, nil
}

func (k keptRecords) Records(context.Context, string, string) ([]core.Record, error) { return nil, nil }

func (k keptRecords) PutRecords(_ context.Context, rs ...*core.Record) error {
	for _, r := range rs {
		k[r.Key] = *r
	}
	return nil
}

func (k keptRecords) ForgetRecords(context.Context, ...core.RecordRange) error { return nil }

// TestGateWaits: a person's time is neither the tool's nor that in which a call must begin, and a call
// that has begun is asked about once.
func TestGateWaits(t *testing.T) {
	t.Parallel()
	effects := 0
	asker := &fakeAsker{}
	act := askingTool(func(context.Context, Call) (Result, error) {
		effects++
		return Result{Text: "well"}, nil
	})
	act.Timeout = time.Second
	policy := fakePolicy{own: map[core.ChannelKey]string{}}.with("boss", "bypassPermissions").with("c", "plan")
	r := newLists(t, Options{Policy: policy, Asker: asker, Records: keptRecords{}}, act)
	synctest.Test(t, func(t *testing.T) {
		asker.decide = func(core.CallRequest) (core.Approval, error) {
			time.Sleep(time.Hour)
			return core.Approval{State: core.ApprovalAllowed, DecidedAt: time.Now()}, nil
		}
		call := Call{Caller: r.Session("c", "s", "turn", 0), ID: "1", RequestID: "r", At: time.Now(), Args: json.RawMessage(`{"name":"act","args":{}}`)}
		for range 2 {
			got, err := r.Call(t.Context(), CallName, call)
			if err != nil || got.Text != "well" {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
	if effects != 1 || len(asker.asked) != 1 {
		t.Errorf("carried out %d times and asked %d times, want once", effects, len(asker.asked))
	}
	call := Call{Caller: r.Session("c", "s", "turn", 0), ID: "2", RequestID: "r2"}
	asker.decide = func(core.CallRequest) (core.Approval, error) {
		return core.Approval{State: core.ApprovalAllowed}, nil
	}
	_, err := r.Call(t.Context(), "act", call)
	check.OK(t, err)
	if asker.asked[0].ID == asker.asked[1].ID {
		t.Error("two calls have one approval")
	}
}

// TestToolThatAsks: a tool that a person must allow is asked for, unless the channel's rules or mode allow
// it already.
func TestToolThatAsks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask   Ask
		mode  string
		rules []string
		asked int
		says  string
	}{
		"asked":                         {ask: Ask{Needed: true, Always: true}, mode: "default", asked: 1, says: "well"},
		"not needed":                    {ask: Ask{Always: true}, mode: "default", says: "well"},
		"a rule allows it":              {ask: Ask{Needed: true, Always: true}, mode: "default", rules: []string{"mcp__bareclaw__act"}, says: "well"},
		"a rule of another tool":        {ask: Ask{Needed: true, Always: true}, mode: "default", rules: []string{"mcp__bareclaw__acts"}, asked: 1, says: "well"},
		"a rule that does not count":    {ask: Ask{Needed: true}, mode: "default", rules: []string{"mcp__bareclaw__act"}, asked: 1, says: "well"},
		"the agent may do everything":   {ask: Ask{Needed: true, Always: true}, mode: "bypassPermissions", says: "well"},
		"the agent is refused all else": {ask: Ask{Needed: true, Always: true}, mode: "dontAsk", says: "act is refused: a person must allow it"},
	} {
		asker := &fakeAsker{decide: func(core.CallRequest) (core.Approval, error) {
			return core.Approval{State: core.ApprovalAllowed}, nil
		}}
		act := echo("act")
		act.Asks = func() Ask { return c.ask }
		act.Reach = ReachOwn
		act.Handle = says("well")
		policy := fakePolicy{own: map[core.ChannelKey]string{"c": c.mode}, rules: c.rules}
		r := newLists(t, Options{Policy: policy, Asker: asker}, act)
		got, err := r.Call(t.Context(), "act", Call{Caller: r.Session("c", "s", "turn", 0), ID: "1", RequestID: "r"})
		if err != nil || !strings.Contains(got.Text, c.says) || len(asker.asked) != c.asked {
			t.Errorf("%s: %+v, %v, and asked %d times", name, got, err, len(asker.asked))
		}
		for _, q := range asker.asked {
			rules := core.AlwaysRules(core.Approval{Kind: core.ApprovalCall, Channel: "c", Tool: q.Tool, Suggestion: q.Suggestion})
			if want := c.ask.Always; want != slices.Equal(rules, []string{"mcp__bareclaw__act"}) || !want && len(rules) > 0 {
				t.Errorf("%s: Always writes %q", name, rules)
			}
		}
	}
}

// TestAmendedCallIsCut: what a person has changed in the arguments stays changed for the process that
// carries the call out again.
func TestAmendedCallIsCut(t *testing.T) {
	t.Parallel()
	records := keptRecords{}
	asker := &fakeAsker{decide: func(core.CallRequest) (core.Approval, error) {
		return core.Approval{State: core.ApprovalAllowed, Input: json.RawMessage(`{"n":2}`)}, nil
	}}
	var seen []string
	cut := true
	act := askingTool(func(_ context.Context, c Call) (Result, error) {
		seen = append(seen, string(c.Args))
		if cut {
			return Result{}, core.ErrClosed
		}
		return Result{Text: "well"}, nil
	})
	act.Keyed = true
	policy := fakePolicy{own: map[core.ChannelKey]string{}}.with("boss", "bypassPermissions").with("c", "plan")
	for range 2 {
		r := newLists(t, Options{Policy: policy, Asker: asker, Records: records}, act)
		_, err := r.Call(t.Context(), "act", Call{Caller: r.Session("c", "s", "turn", 0), ID: "1", RequestID: "r", Args: json.RawMessage(`{"n":1}`)})
		if cut != errors.Is(err, core.ErrClosed) {
			t.Fatal(err)
		}
		cut = false
	}
	if want := []string{`{"n":2}`, `{"n":2}`}; !slices.Equal(seen, want) {
		t.Errorf("carried out with %v, want %v", seen, want)
	}
}

// TestClientLeavesTheGate: nobody decides for a client that has left.
func TestClientLeavesTheGate(t *testing.T) {
	t.Parallel()
	act := askingTool(says("well"))
	policy := fakePolicy{own: map[core.ChannelKey]string{}}.with("boss", "bypassPermissions")
	r := newLists(t, Options{Policy: policy, Asker: waitingAsker{}}, act)
	gone := make(chan struct{})
	close(gone)
	got, err := r.Call(t.Context(), "act", Call{Caller: Caller{Local: true}, Gone: gone})
	if err != nil || !strings.Contains(got.Text, "has left") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A waitingAsker asks for as long as somebody waits.
type waitingAsker struct{}

func (waitingAsker) AskCall(ctx context.Context, _ core.CallRequest) (core.Approval, error) {
	<-ctx.Done()
	return core.Approval{}, context.Cause(ctx)
}
