package ledgertest

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

func testMessageKeepsEverything(t *testing.T, s Subject) {
	big := strings.Repeat("0123456789abcdef", 1<<14)
	contents := map[string]core.Content{
		"text":      {Text: "hello"},
		"empty":     {},
		"odd bytes": {Text: "a\x00b\xffc\u2028\"\\"},
		"big text":  {Text: big},
		"blocks":    {Text: "and text", Blocks: []json.RawMessage{json.RawMessage(`{"type":"text", "text":"<b>"}`), json.RawMessage(`[1, 2]`)}},
		"big block": {Blocks: []json.RawMessage{json.RawMessage(`{"data":"` + big + `"}`)}},
	}
	l := s.open(t)
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			want := core.Message{
				ID:         core.MessageID(NewID()),
				Channel:    "odd \x00 \"channel\"\n",
				Adapter:    "telegram",
				Origin:     core.Origin{User: "Ann <ann@example.org>", Chat: "c", Topic: "t"},
				Content:    content,
				Mode:       core.Steer,
				SourceKey:  "key " + name,
				SourceHash: "hash",
				RetryOf:    "earlier",
				Interrupts: "a turn",
				CanAsk:     true,
				Deliver:    true,
				Depth:      2,
				ReceivedAt: Day.Add(time.Nanosecond),
				State:      core.Waiting,
			}
			MustWrite(t, l, Accept(&want))
			wantMessage(t, l, want)

			turn := TurnOf(&want)
			turn.Line = []byte(big)
			MustWrite(t, l, begin(turn))
			want.State = core.Running
			want.Turn = turn.ID
			want.DispatchedAt = turn.BegunAt
			wantMessage(t, l, want)

			want.State = core.Failed
			want.EndedAt = Day.Add(time.Minute)
			want.Reply = core.Reply{
				State:     core.Failed,
				Text:      big,
				IsError:   true,
				Code:      "max_turns",
				Error:     "too many",
				Coalesced: true,
				Into:      "another",
				Via:       "telegram",
				Duration:  1234567 * time.Microsecond,
				CostUSD:   0.125,
				SessionID: "s",
				Notices:   []core.Notice{{Code: "fresh", Text: "anew"}},
			}
			MustWrite(t, l, settle(want.ID, want.EndedAt, want.Reply))
			wantMessage(t, l, want)
		})
	}
}

func wantMessage(t *testing.T, l Ledger, want core.Message) {
	t.Helper()
	got, err := l.Message(t.Context(), want.ID)
	want.Prompt = core.PromptOf(want.Content)
	wantRead(t, "message", got, err, want)
}

func testUnknownIsNotFound(t *testing.T, s Subject) {
	l := s.open(t)
	ctx := t.Context()
	_, err := l.Message(ctx, "x")
	wantNotFound(t, "message", err)
	_, err = l.Turn(ctx, "x")
	wantNotFound(t, "turn", err)
	_, err = l.Approval(ctx, "x")
	wantNotFound(t, "approval", err)
	_, err = l.Messages(ctx, "c", 1, "x")
	wantNotFound(t, "page", err)
	wantUse(t, l, "x", core.SessionUse{})
}

// Neither the clock nor the ids say what came first.
func testOrderIsThatOfAcceptance(t *testing.T, s Subject) {
	l := s.open(t)
	ids := []core.MessageID{"m-5", "m-1", "m-9", "m-3"}
	var turns []core.TurnID
	for i, id := range ids {
		m := Message("c")
		m.ID = id
		m.ReceivedAt = Day.Add(-time.Duration(i) * time.Hour)
		turn := TurnOf(m)
		turn.ID = core.TurnID(id)
		turn.BegunAt = m.ReceivedAt
		turns = append(turns, turn.ID)
		MustWrite(t, l, Accepted(m, turn))
		MustWrite(t, l, Accept(Message("other")))
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
		{2, "", []core.MessageID{"m-3", "m-9"}},
		{2, "m-9", []core.MessageID{"m-1", "m-5"}},
		{9, "m-5", nil},
		{0, "", nil},
		{-1, "", nil},
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
	WantBalance(t, l, want)
	cs, err := l.Channels(t.Context())
	check.OK(t, err)
	if wantChannels := []core.ChannelRecord{
		{Key: "other", Messages: 4, LastAt: Day},
		{Key: "c", Messages: 4, LastAt: Day.Add(-3 * time.Hour)},
	}; !reflect.DeepEqual(cs, wantChannels) {
		t.Errorf("channels = %+v, want %+v", cs, wantChannels)
	}
}

func testSettleCountsOnce(t *testing.T, s Subject) {
	l := s.open(t)
	states := []core.State{core.Answered, core.Failed, core.Cancelled, core.Cancelled}
	for _, state := range states {
		m := Message("c")
		MustWrite(t, l, Accept(m))
		MustWrite(t, l, settle(m.ID, Day, core.Reply{State: state, Text: "first"}))
		second := settle(m.ID, Day, core.Reply{State: core.Answered, Text: "second"})
		second.Settle = append(second.Settle, second.Settle[0])
		MustWrite(t, l, second)
		got, err := l.Message(t.Context(), m.ID)
		check.OK(t, err)
		if got.Reply.Text != "first" || got.State != state {
			t.Errorf("outcome = %s %q, want the first one", got.State, got.Reply.Text)
		}
	}
	MustWrite(t, l, Accept(Message("c")))
	WantBalance(t, l, core.Balance{
		Accepted:  5,
		Answered:  1,
		Failed:    1,
		Cancelled: 2,
		Waiting:   1,
	})
}

// What waits gets another content, whatever the size of either, and however lately it
// was accepted.
func testAmend(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	big := strings.Repeat("x", 1<<14)
	m := Message("c")
	MustWrite(t, l, Accept(m))
	for _, c := range []core.Content{
		{Text: "small"}, {Text: big}, {Text: big + "y"}, {Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"b"}`)}}, {Text: "last"},
	} {
		m.Content = c
		MustWrite(t, l, amend(m))
		check.OK(t, l.Close())
		l = s.openIn(t, dir)
		wantMessage(t, l, *m)
	}
	turn := TurnOf(m)
	MustWrite(t, l, begin(turn))
	late := *m
	late.Content.Text = "late"
	if err := Write(l, amend(&late)); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("a running message: %v", err)
	}
	if err := Write(l, amend(Message("c"))); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("an unknown message: %v", err)
	}
	m.State = core.Running
	m.Turn = turn.ID
	m.DispatchedAt = turn.BegunAt
	wantMessage(t, l, *m)
}

// What waits is found in its order, by rank before acceptance.
func testReorder(t *testing.T, s Subject) {
	l := s.open(t)
	var ms []*core.Message
	for range 4 {
		m := Message("c")
		MustWrite(t, l, Accept(m))
		ms = append(ms, m)
	}
	MustWrite(t, l, reorder(ms[2].ID, -1))
	MustWrite(t, l, reorder(ms[3].ID, -2))
	open, _, err := l.Open(t.Context())
	check.OK(t, err)
	for i, want := range []*core.Message{ms[3], ms[2], ms[0], ms[1]} {
		if open[i].ID != want.ID {
			t.Errorf("message %d is %s (rank %d), want %s", i, open[i].ID, open[i].Rank, want.ID)
		}
	}
	MustWrite(t, l, begin(TurnOf(ms[0])))
	if err := Write(l, reorder(ms[0].ID, -3)); !errors.Is(err, core.ErrNotWaiting) {
		t.Errorf("a running message: %v", err)
	}
}

// A turn that is known to have done nothing gives its messages back.
func testRequeue(t *testing.T, s Subject) {
	for name, arrived := range map[string]bool{"posted": false, "arrived": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := s.open(t)
			m, turn := Begun(t, l)
			if !arrived {
				WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1}) // which posts
			}
			turn.EndedAt = Day
			turn.Code = "usage_limit"
			MustWrite(t, l, core.Change{End: []*core.Turn{turn}, Requeue: []core.MessageID{m.ID}})
			got, err := l.Message(t.Context(), m.ID)
			check.OK(t, err)
			if got.State != core.Waiting || got.Turn != "" || !got.DispatchedAt.IsZero() {
				t.Errorf("message = %+v, want it as before its turn", got)
			}
			ms, ts, err := l.Open(t.Context())
			if err != nil || len(ms) != 1 || len(ts) != 0 {
				t.Errorf("%d messages and %d turns are open (%v), want the message alone", len(ms), len(ts), err)
			}
			WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
			again := TurnOf(m)
			MustWrite(t, l, begin(again))
			MustWrite(t, l, Answered(m, again))
			WantBalance(t, l, core.Balance{Accepted: 1, Answered: 1})
			MustWrite(t, l, core.Change{Requeue: []core.MessageID{m.ID}}) // it keeps its outcome
			WantBalance(t, l, core.Balance{Accepted: 1, Answered: 1})
			if err := Write(l, core.Change{Requeue: []core.MessageID{"x"}}); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("an unknown message is put back: %v", err)
			}
		})
	}
}

// testMessageIDs: messages are found by both ends of their ids, also before they are posted.
func testMessageIDs(t *testing.T, s Subject) {
	l := s.open(t)
	m := Message("c")
	MustWrite(t, l, Accept(m))
	id := string(m.ID)
	for text, want := range map[string]int{
		id:       1,
		id[:20]:  1,
		id[28:]:  1,
		"%":      0,
		"zz":     0,
		id[1:20]: 0,
	} {
		if got, err := l.MessageIDs(t.Context(), text, 5); err != nil || len(got) != want {
			t.Errorf("%q finds %v, %v", text, got, err)
		}
	}
}
