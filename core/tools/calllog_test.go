package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// recordedTool is the tool act in a registry over a ledger. effects counts how often the tool was
// carried out.
type recordedTool struct {
	t       *testing.T
	tool    Tool
	ledger  *sqlite.Ledger
	now     time.Time // of the records
	effects int
	last    Call
	r       *Registry
}

func newRecordedTool(t *testing.T, handle Handler) *recordedTool {
	t.Helper()
	l, err := sqlite.Open(filepath.Join(t.TempDir(), "ledger.db"), slog.New(slog.DiscardHandler))
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() }) // again, in some tests
	rt := &recordedTool{t: t, ledger: l, now: time.Now()}
	rt.tool = Tool{Name: "act", Input: anyObject, ByName: true, Handle: func(ctx context.Context, c Call) (Result, error) {
		rt.effects, rt.last = rt.effects+1, c
		return handle(ctx, c)
	}}
	rt.restart()
	return rt
}

// restart has another registry carry out calls, as the next process of the gateway does.
func (rt *recordedTool) restart() {
	rt.recordIn(adapterstore.New(rt.ledger, nil, func() time.Time { return rt.now }, slog.New(slog.DiscardHandler)))
}

// recordIn has another registry carry out calls, with these records.
func (rt *recordedTool) recordIn(records RecordStore) {
	rt.r = newLists(rt.t, Options{Records: records}, rt.tool).Registry
}

// cut calls the tool, and ends the gateway during the call.
func (rt *recordedTool) cut(c Call) {
	rt.t.Helper()
	ctx, end := context.WithCancelCause(rt.t.Context())
	end(core.ErrClosed)
	handle := rt.tool.Handle
	rt.tool.Handle = func(context.Context, Call) (Result, error) {
		rt.effects++
		return Result{}, context.Cause(ctx)
	}
	rt.restart()
	if _, err := rt.r.Call(rt.t.Context(), "act", c); !errors.Is(err, core.ErrClosed) {
		rt.t.Fatalf("a call that was cut: %v", err)
	}
	rt.tool.Handle = handle
	rt.restart()
}

func (rt *recordedTool) want(name string, c Call, text string, isError bool, effects int) {
	rt.t.Helper()
	got, err := rt.r.Call(rt.t.Context(), name, c)
	outcome := Succeeded
	switch {
	case strings.Contains(text, "outcome unknown"):
		outcome = Unknown
	case isError && effects == 0:
		outcome = Unbegun
	case isError:
		outcome = Failed
	}
	if err != nil || !strings.Contains(got.Text, text) || got.IsError != isError || got.Outcome != outcome || rt.effects != effects {
		rt.t.Errorf("%+v, %v after %d effects; want %q, %s and %d", got, err, rt.effects, text, outcome, effects)
	}
}

func says(text string) Handler {
	return func(context.Context, Call) (Result, error) { return Result{Text: text}, nil }
}

// TestAskedAgain asks for the same call twice, of two processes.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, Call) (Result, error) { return Result{}, errors.New("no luck") }
	for name, c := range map[string]struct {
		handle        Handler
		readOnly      bool
		through       string // the tool that is called; "" for act
		call          Call
		first, second string
		isError       bool
		effects       int // in all
	}{
		"recorded":          {handle: says("well"), call: Call{Caller: Caller{Session: "s"}, ID: "1"}, first: "well", second: "well", effects: 1},
		"recorded failure":  {handle: fails, call: Call{Caller: Caller{Session: "s"}, ID: "1"}, first: "no luck", second: "no luck", isError: true, effects: 1},
		"by name":           {handle: says("well"), through: CallName, call: Call{Caller: Caller{Session: "s"}, ID: "1", Args: json.RawMessage(`{"name":"act"}`)}, first: "well", second: "well", effects: 1},
		"a large result":    {handle: says(strings.Repeat("x", 1<<20)), call: Call{Caller: Caller{Session: "s"}, ID: "1"}, first: "xxx", second: "too large to be kept", effects: 1},
		"without a session": {handle: says("well"), call: Call{ID: "1"}, first: "well", second: "well", effects: 2},
		"without an id":     {handle: says("well"), call: Call{Caller: Caller{Session: "s"}}, first: "well", second: "well", effects: 2},
		"changing nothing":  {handle: says("well"), readOnly: true, call: Call{Caller: Caller{Session: "s"}, ID: "1"}, first: "well", second: "well", effects: 2},
		"in time":           {handle: says("well"), call: Call{Caller: Caller{Session: "s"}, ID: "1", At: time.Now().Add(-beginWithin / 2)}, first: "well", second: "well", effects: 1},
		"too late":          {handle: says("well"), call: Call{Caller: Caller{Session: "s"}, ID: "1", At: time.Now().Add(-beginWithin - time.Second)}, first: "nothing has been done", second: "nothing has been done", isError: true},
		"unfit arguments":   {handle: says("well"), call: Call{Caller: Caller{Session: "s"}, ID: "1", Args: json.RawMessage(`[]`)}, first: "do not fit", second: "do not fit", isError: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := newRecordedTool(t, c.handle)
			rt.tool.Annotations.ReadOnly = c.readOnly
			rt.restart()
			if c.through == "" {
				c.through = "act"
			}
			rt.want(c.through, c.call, c.first, c.isError, min(1, c.effects))
			rt.restart()
			rt.want(c.through, c.call, c.second, c.isError, c.effects)
		})
	}
}

// TestCallThatWasCut asks again for a call that had begun when the gateway ended.
func TestCallThatWasCut(t *testing.T) {
	t.Parallel()
	late := Call{Caller: Caller{Session: "s", Turn: "turn"}, ID: "1", At: time.Now().Add(-time.Hour)} // which matters only before the begin
	early := late
	early.At = time.Time{}
	rt := newRecordedTool(t, says("well"))
	rt.cut(early)
	rt.want("act", late, "outcome unknown", true, 1)
	for name, change := range map[string]func(*Tool){
		"idempotent": func(t *Tool) { t.Annotations.Idempotent = true },
		"keyed":      func(t *Tool) { t.Keyed = true },
	} {
		rt := newRecordedTool(t, says("well"))
		change(&rt.tool)
		rt.cut(early)
		rt.want("act", late, "well", false, 2)
		if !rt.last.Repeated {
			t.Errorf("%s: the tool is not told that the call is repeated", name)
		}
		rt.want("act", late, "well", false, 2)
	}
}

// TestCallDuringTheEnd: what a tool did although nobody waited any more is on record.
func TestCallDuringTheEnd(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	rt := newRecordedTool(t, func(context.Context, Call) (Result, error) {
		end()
		return Result{Text: "well"}, nil
	})
	_, _ = rt.r.Call(ctx, "act", Call{Caller: Caller{Session: "s"}, ID: "1"}) // nobody reads the result
	rt.restart()
	rt.want("act", Call{Caller: Caller{Session: "s"}, ID: "1"}, "well", false, 1)
}

// TestCallWithoutRecord: what cannot be recorded is not carried out. When the ledger is closed the
// next process carries out the call.
func TestCallWithoutRecord(t *testing.T) {
	t.Parallel()
	rt := newRecordedTool(t, says("well"))
	rt.recordIn(failingRecords{})
	rt.want("act", Call{Caller: Caller{Session: "s"}, ID: "1"}, "no space left", true, 0)
	rt.restart()
	check.OK(t, rt.ledger.Close())
	if _, err := rt.r.Call(t.Context(), "act", Call{Caller: Caller{Session: "s"}, ID: "1"}); !errors.Is(err, core.ErrClosed) || rt.effects != 0 {
		t.Errorf("%v after %d effects", err, rt.effects)
	}
}

// failingRecords cannot be written.
type failingRecords struct{ RecordStore }

func (failingRecords) Record(context.Context, string, string) (core.Record, error) {
	return core.Record{}, core.ErrNotFound
}
func (failingRecords) PutRecords(context.Context, ...*core.Record) error { return core.ErrStorageFull }

func TestCallsOfTurn(t *testing.T) {
	t.Parallel()
	rt := newRecordedTool(t, func(_ context.Context, c Call) (Result, error) {
		return Result{IsError: c.ID == "2"}, nil
	})
	for _, c := range []Call{
		{Caller: Caller{Session: "s", Turn: "a"}, ID: "9"},
		{Caller: Caller{Session: "s", Turn: "a"}, ID: "2"},
		{Caller: Caller{Session: "s", Turn: "b"}, ID: "3"},
		{Caller: Caller{Session: "t", Turn: "a"}, ID: "4"},
	} {
		_, err := rt.r.Call(t.Context(), "act", c)
		check.OK(t, err)
	}
	rt.cut(Call{Caller: Caller{Session: "s", Turn: "a"}, ID: "1"})
	calls, err := rt.r.CallsOf(t.Context(), "s", "a")
	check.OK(t, err)
	var outcomes []core.ToolOutcome
	for _, c := range calls {
		outcomes = append(outcomes, c.Outcome)
	}
	if want := []core.ToolOutcome{core.ToolDone, core.ToolFailed, core.ToolUnknown}; !slices.Equal(outcomes, want) {
		t.Errorf("outcomes %q, want %q", outcomes, want)
	}
}

func TestOldRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	rt := newRecordedTool(t, says("well"))
	for i, age := range []time.Duration{recordsKept + time.Hour, recordsKept - time.Hour, 0} {
		rt.now = time.Now().Add(-age)
		rt.want("act", Call{Caller: Caller{Session: "s"}, ID: string(rune('a' + i))}, "well", false, i+1)
		rt.restart()
	}
	left, err := rt.ledger.Records(t.Context(), recordOwner, "")
	check.OK(t, err)
	if len(left) != 2 {
		t.Errorf("%d records are left: %+v", len(left), left)
	}
}

// TestCallThatHasNotBegun: the next process carries out a call that has waited in vain, unless it is
// too late.
func TestCallThatHasNotBegun(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{0: "well", 2 * beginWithin: "nothing has been done"} {
		rt := newRecordedTool(t, says("well"))
		c := Call{Caller: Caller{Session: "s", Turn: "turn"}, ID: "1"}
		handle := rt.tool.Handle
		rt.tool.Handle = func(context.Context, Call) (Result, error) { return Result{}, ErrNotBegun }
		rt.restart()
		if _, err := rt.r.Call(t.Context(), "act", c); !errors.Is(err, core.ErrClosed) {
			t.Fatalf("a call that waits: %v", err)
		}
		if calls, err := rt.r.CallsOf(t.Context(), "s", "turn"); err != nil || len(calls) > 0 {
			t.Errorf("of a call that has not begun: %v, %v", calls, err)
		}
		rt.tool.Handle = handle
		rt.restart()
		c.At = time.Now().Add(-age)
		rt.want("act", c, want, age > 0, map[bool]int{true: 1}[age == 0])
	}
}
