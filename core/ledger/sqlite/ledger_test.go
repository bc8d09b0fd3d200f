package sqlite_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func TestMessageKeepsEverything(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 1<<14)
	contents := map[string]core.Content{
		"text":      {Text: "hello"},
		"empty":     {},
		"odd bytes": {Text: "a\x00b\xffc\u2028\"\\"},
		"big text":  {Text: big},
		"blocks":    {Text: "and text", Blocks: []json.RawMessage{json.RawMessage(`{"type":"text", "text":"<b>"}`), json.RawMessage(`[1, 2]`)}},
		"big block": {Blocks: []json.RawMessage{json.RawMessage(`{"data":"` + big + `"}`)}},
	}
	l := open(t)
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			want := core.Message{
				ID: core.MessageID(newID()), Channel: "odd \x00 \"channel\"\n", Adapter: "telegram",
				Origin:  core.Origin{User: "Ann <ann@example.org>", Chat: "c", Topic: "t"},
				Content: content, Mode: core.Steer, SourceKey: "key " + name, SourceHash: "hash", RetryOf: "earlier", Interrupts: "a turn", CanAsk: true,
				ReceivedAt: day.Add(time.Nanosecond), State: core.Waiting,
			}
			mustWrite(t, l, core.Change{Accept: []*core.Message{&want}})
			wantMessage(t, l, want)

			turn := turnOf(&want)
			turn.Line = []byte(big)
			mustWrite(t, l, core.Change{Begin: []*core.Turn{turn}})
			want.State, want.Turn, want.DispatchedAt = core.Running, turn.ID, turn.BegunAt
			wantMessage(t, l, want)

			want.State, want.EndedAt = core.Failed, day.Add(time.Minute)
			want.Reply = core.Reply{
				State: core.Failed, Text: big, IsError: true, Code: "max_turns", Error: "too many", Coalesced: true, Into: "another", Via: "telegram",
				Duration: 1234567 * time.Microsecond, CostUSD: 0.125, SessionID: "s", Notices: []core.Notice{{Code: "fresh", Text: "anew"}},
			}
			mustWrite(t, l, core.Change{Settle: []core.Settlement{{ID: want.ID, EndedAt: want.EndedAt, Reply: want.Reply}}})
			wantMessage(t, l, want)
		})
	}
}

func wantMessage(t *testing.T, l core.Ledger, want core.Message) {
	t.Helper()
	got, err := l.Message(t.Context(), want.ID)
	check.OK(t, err)
	want.Prompt = core.PromptOf(want.Content)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("message = %+.300v\nwant %+.300v", got, want)
	}
}

func TestTurnKeepsEverything(t *testing.T) {
	t.Parallel()
	l := open(t)
	m := message("c")
	want := core.Turn{
		ID: core.TurnID(newID()), Channel: m.Channel, SessionID: "s1", Opens: true, Members: []core.MessageID{m.ID}, Line: []byte("{}\n"),
		Steered: true, CanAsk: true, BegunAt: day, Notices: []core.Notice{{Code: "a", Text: "b"}},
	}
	mustWrite(t, l, accepted(m, &want))
	wantTurn(t, l, want)

	want.SessionID, want.Notices = "s2", append(want.Notices, core.Notice{Code: "c"})
	mustWrite(t, l, core.Change{Update: []*core.Turn{&want}})
	wantTurn(t, l, want)

	want.EndedAt, want.Code, want.SessionID = day.Add(time.Hour), "interrupted", "s3"
	want.Marks = []core.Mark{{At: day, What: "begun", Detail: "d"}}
	want.Result = &core.Result{
		Turns: []core.TurnID{want.ID, "other"}, Background: true, Text: "words", IsError: true, Interrupted: true, Code: "code",
		Error: "error", SessionID: "s3", TotalCost: 2.5, NumTurns: 7,
	}
	mustWrite(t, l, core.Change{End: []*core.Turn{&want}})
	wantTurn(t, l, want)

	again := want
	again.EndedAt, again.Code, again.Result, again.SessionID = day.Add(2*time.Hour), "later", nil, "s4"
	mustWrite(t, l, core.Change{End: []*core.Turn{&again}, Update: []*core.Turn{&again}})
	wantTurn(t, l, want) // a turn that has an end keeps it
}

func wantTurn(t *testing.T, l core.Ledger, want core.Turn) {
	t.Helper()
	got, err := l.Turn(t.Context(), want.ID)
	check.OK(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("turn = %+v\nwant %+v", got, want)
	}
}

func TestUnknownIsNotFound(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	_, message := l.Message(ctx, "x")
	_, turn := l.Turn(ctx, "x")
	_, approval := l.Approval(ctx, "x")
	_, page := l.Messages(ctx, "c", 1, "x")
	for what, err := range map[string]error{"message": message, "turn": turn, "approval": approval, "page": page} {
		if !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: error = %v, want ErrNotFound", what, err)
		}
	}
	if use, err := l.SessionUse(ctx, "x"); err != nil || use != (core.SessionUse{}) {
		t.Errorf("session use = %+v, %v, want nothing", use, err)
	}
}

// Neither the clock nor the ids say what came first.
func TestOrderIsThatOfAcceptance(t *testing.T) {
	t.Parallel()
	l := open(t)
	ids := []core.MessageID{"m-5", "m-1", "m-9", "m-3"}
	var turns []core.TurnID
	for i, id := range ids {
		m := message("c")
		m.ID, m.ReceivedAt = id, day.Add(-time.Duration(i)*time.Hour)
		turn := turnOf(m)
		turn.ID, turn.BegunAt = core.TurnID(id), m.ReceivedAt
		turns = append(turns, turn.ID)
		mustWrite(t, l, accepted(m, turn))
		mustWrite(t, l, core.Change{Accept: []*core.Message{message("other")}})
	}
	ms, ts, err := l.Open(t.Context())
	check.OK(t, err)
	var gotIDs []core.MessageID
	for _, m := range ms {
		if m.Channel == "c" {
			gotIDs = append(gotIDs, m.ID)
		}
	}
	var gotTurns []core.TurnID
	for _, turn := range ts {
		gotTurns = append(gotTurns, turn.ID)
	}
	if !reflect.DeepEqual(gotIDs, ids) || !reflect.DeepEqual(gotTurns, turns) {
		t.Errorf("open = %v and %v, want %v and %v", gotIDs, gotTurns, ids, turns)
	}
	for _, page := range []struct {
		limit  int
		before core.MessageID
		want   []core.MessageID
	}{
		{2, "", []core.MessageID{"m-3", "m-9"}}, {2, "m-9", []core.MessageID{"m-1", "m-5"}}, {9, "m-5", nil}, {0, "", nil}, {-1, "", nil},
	} {
		ms, err := l.Messages(t.Context(), "c", page.limit, page.before)
		check.OK(t, err)
		var got []core.MessageID
		for _, m := range ms {
			got = append(got, m.ID)
		}
		if !reflect.DeepEqual(got, page.want) {
			t.Errorf("%d messages before %q = %v, want %v", page.limit, page.before, got, page.want)
		}
	}
	want := core.Balance{Accepted: 8, Waiting: 8}
	wantBalance(t, l, want)
	cs, err := l.Channels(t.Context())
	check.OK(t, err)
	if wantChannels := []core.ChannelRecord{
		{Key: "other", Messages: 4, LastAt: day}, {Key: "c", Messages: 4, LastAt: day.Add(-3 * time.Hour)},
	}; !reflect.DeepEqual(cs, wantChannels) {
		t.Errorf("channels = %+v, want %+v", cs, wantChannels)
	}
}

func TestSettleCountsOnce(t *testing.T) {
	t.Parallel()
	l := open(t)
	states := []core.State{core.Answered, core.Failed, core.Cancelled, core.Cancelled}
	for _, state := range states {
		m := message("c")
		mustWrite(t, l, core.Change{Accept: []*core.Message{m}})
		settle := core.Settlement{ID: m.ID, EndedAt: day, Reply: core.Reply{State: state, Text: "first"}}
		mustWrite(t, l, core.Change{Settle: []core.Settlement{settle}})
		settle.Reply = core.Reply{State: core.Answered, Text: "second"}
		mustWrite(t, l, core.Change{Settle: []core.Settlement{settle, settle}})
		got, err := l.Message(t.Context(), m.ID)
		check.OK(t, err)
		if got.Reply.Text != "first" || got.State != state {
			t.Errorf("outcome = %s %q, want the first one", got.State, got.Reply.Text)
		}
	}
	mustWrite(t, l, core.Change{Accept: []*core.Message{message("c")}})
	wantBalance(t, l, core.Balance{Accepted: 5, Answered: 1, Failed: 1, Cancelled: 2, Waiting: 1})
}

func TestSessionUse(t *testing.T) {
	t.Parallel()
	l := open(t)
	m := message("c")
	turn := turnOf(m)
	turn.SessionID, turn.Opens = "ours", true
	mustWrite(t, l, accepted(m, turn))
	wantUse(t, l, "ours", core.SessionUse{Ours: true})

	turn.SessionID = "next" // a later beginning of the same turn
	mustWrite(t, l, core.Change{Update: []*core.Turn{turn}})
	wantUse(t, l, "next", core.SessionUse{Ours: true})

	mustWrite(t, l, answered(m, turn))
	wantUse(t, l, "next", core.SessionUse{Ours: true, Completed: true, TotalCost: 1.5})
	wantUse(t, l, "ours", core.SessionUse{Ours: true})

	m2 := message("c")
	t2 := turnOf(m2)
	t2.SessionID = "theirs"
	mustWrite(t, l, accepted(m2, t2))
	wantUse(t, l, "theirs", core.SessionUse{})
	mustWrite(t, l, answered(m2, t2))
	wantUse(t, l, "theirs", core.SessionUse{Completed: true, TotalCost: 1.5})

	m3 := message("c")
	t3 := turnOf(m3)
	t3.SessionID = "next"
	mustWrite(t, l, accepted(m3, t3))
	t3.EndedAt = day
	mustWrite(t, l, core.Change{End: []*core.Turn{t3}}) // without a result
	wantUse(t, l, "next", core.SessionUse{Ours: true, Completed: true, TotalCost: 1.5})
}

func wantUse(t *testing.T, l core.Ledger, id string, want core.SessionUse) {
	t.Helper()
	got, err := l.SessionUse(t.Context(), id)
	check.OK(t, err)
	if got != want {
		t.Errorf("use of session %q = %+v, want %+v", id, got, want)
	}
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	first := core.Approval{
		ID: "z", Channel: "c", Message: "m", Turn: "t", RequestID: "r", Tool: "Bash", Input: json.RawMessage(`{"command": "ls <x>"}`),
		Prompt:    core.Prompt{Text: "list it", Truncated: true, Blocks: []core.Block{{Type: "image", MediaType: "image/png", Bytes: 3}}},
		CreatedAt: day, ExpiresAt: day.Add(time.Minute), State: core.ApprovalPending,
	}
	second := first
	second.ID, second.Suggestion = "a", json.RawMessage(`[{}]`)
	other := first
	other.ID, other.Turn = "k", "another"
	mustWrite(t, l, core.Change{Approvals: []*core.Approval{&first, &second, &other}})
	pending, err := l.PendingApprovals(ctx)
	if want := []core.Approval{first, second, other}; err != nil || !reflect.DeepEqual(pending, want) {
		t.Errorf("pending = %+v, %v, want %+v", pending, err, want)
	}
	first.State, first.Reason, first.DecidedBy, first.DecidedAt = core.ApprovalDenied, "no", "Ann", day.Add(time.Second)
	mustWrite(t, l, core.Change{Approvals: []*core.Approval{&first}})
	if got, err := l.Approval(ctx, "z"); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("approval = %+v, %v, want %+v", got, err, first)
	}
	if pending, err = l.PendingApprovals(ctx); err != nil || !reflect.DeepEqual(pending, []core.Approval{second, other}) {
		t.Errorf("pending = %+v, %v", pending, err)
	}
	if of, err := l.TurnApprovals(ctx, "t"); err != nil || !reflect.DeepEqual(of, []core.Approval{first, second}) {
		t.Errorf("of turn = %+v, %v", of, err)
	}
}

func TestBackgrounds(t *testing.T) {
	t.Parallel()
	l := open(t)
	var all []core.Background
	for i, id := range []string{"b", "c", "a"} {
		b := core.Background{ID: id, Channel: "c", Text: "text " + id, IsError: i == 1, CreatedAt: day.Add(-time.Duration(i) * time.Hour)}
		all = append([]core.Background{b}, all...)
		mustWrite(t, l, core.Change{Background: []*core.Background{&b, {ID: "other " + id, Channel: "d", CreatedAt: day}}})
	}
	if got, err := l.Backgrounds(t.Context(), "c", 2); err != nil || !reflect.DeepEqual(got, all[:2]) {
		t.Errorf("backgrounds = %+v, %v, want %+v", got, err, all[:2])
	}
	if got, err := l.Backgrounds(t.Context(), "c", 0); err != nil || len(got) != 0 {
		t.Errorf("no backgrounds asked for, got %+v, %v", got, err)
	}
}
