package ledgertest

import (
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func wantSpent(t *testing.T, l Ledger, on time.Time, want float64) {
	t.Helper()
	got, err := l.Spent(t.Context(), core.Day(on))
	if err != nil || got != want {
		t.Errorf("spent on %s: %v (%v), want %v", core.Day(on), got, err, want)
	}
}

// What is written again after a crash is paid once, and each Day by itself.
func testSpending(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	wantSpent(t, l, Day, 0)
	m, turn := Begun(t, l)
	c := Answered(m, turn)
	MustWrite(t, l, c)
	MustWrite(t, l, c)
	next := Day.AddDate(0, 0, 1)
	b := &core.Background{
		ID:        "b",
		Channel:   "c",
		Text:      "done",
		CreatedAt: next,
		SessionID: turn.SessionID,
		CostUSD:   0.5,
		TotalCost: 2,
	}
	MustWrite(t, l, core.Change{Background: []*core.Background{b}, Lazy: true})
	MustWrite(t, l, core.Change{Background: []*core.Background{b}, Lazy: true})
	wantSpent(t, l, Day, 0.25)
	wantSpent(t, l, next, 0.5)
	check.OK(t, l.Close())
	l = s.openIn(t, dir)
	wantSpent(t, l, Day, 0.25)
	wantSpent(t, l, next, 0.5)
	second, again := Begun(t, l)
	again.EndedAt = next
	again.CostUSD = 0.125
	MustWrite(t, l, core.Change{End: []*core.Turn{again}, Requeue: []core.MessageID{second.ID}}) // a turn that is to run again is paid too
	wantSpent(t, l, next, 0.625)
}

// What cannot be written is not paid.
func testSpendingIsOfItsChange(t *testing.T, s Subject) {
	l := s.open(t)
	m, turn := Begun(t, l)
	c := Answered(m, turn)
	c.End = append(c.End, TurnOf(m)) // of which nothing is known
	c.End[1].EndedAt = Day
	if err := Write(l, c); err == nil {
		t.Error("the end of an unknown turn was written")
	}
	wantSpent(t, l, Day, 0)
	MustWrite(t, l, Answered(m, turn))
	wantSpent(t, l, Day, 0.25)
}

// The running total of a session is the highest of its results, also in the background: they may be
// written in another order.
func testSessionTotal(t *testing.T, s Subject) {
	l := s.open(t)
	end := func(total float64) {
		m, turn := Begun(t, l)
		c := Answered(m, turn)
		turn.Result.TotalCost = total
		MustWrite(t, l, c)
	}
	end(2)
	end(1.5)
	session := TurnOf(Message("c")).SessionID
	wantUse(t, l, session, core.SessionUse{Completed: true, TotalCost: 2})
	for i, total := range []float64{1, 2.5} {
		b := &core.Background{
			ID:        string(rune('a' + i)),
			Channel:   "c",
			CreatedAt: Day,
			SessionID: session,
			TotalCost: total,
		}
		MustWrite(t, l, background(b))
	}
	wantUse(t, l, session, core.SessionUse{Completed: true, TotalCost: 2.5})
	b := &core.Background{
		ID:        "c",
		Channel:   "c",
		CreatedAt: Day,
		SessionID: "another",
		TotalCost: 3,
	}
	MustWrite(t, l, background(b))
	wantUse(t, l, "another", core.SessionUse{TotalCost: 3})
}

func testUsageOfAChannel(t *testing.T, s Subject) {
	l := s.open(t)
	today := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	turn := func(channel core.ChannelKey, at time.Time, costs ...float64) {
		tn := &core.Turn{
			ID:      core.TurnID(NewID()),
			Channel: channel,
			BegunAt: at,
			EndedAt: at,
		}
		accept := begin(tn)
		ended := end(tn)
		for _, cost := range costs {
			m := &core.Message{ID: core.MessageID(NewID()), Channel: channel, ReceivedAt: at}
			tn.Members = append(tn.Members, m.ID)
			accept.Accept = append(accept.Accept, m)
			reply := core.Reply{State: core.Answered, CostUSD: cost}
			ended.Settle = append(ended.Settle, core.Settlement{ID: m.ID, EndedAt: at, Reply: reply})
		}
		MustWrite(t, l, accept)
		MustWrite(t, l, ended)
	}
	turn("a", today.Add(-time.Hour), 1)
	turn("a", today.Add(time.Hour), 0, 0.5)
	turn("b", today.Add(time.Hour), 4)
	MustWrite(t, l, Accept(&core.Message{ID: core.MessageID(NewID()), Channel: "a", ReceivedAt: today}))
	for channel, want := range map[core.ChannelKey]core.Usage{
		"a": {
			Turns:      2,
			TurnsToday: 1,
			Spent:      1.5,
			SpentToday: 0.5,
		},
		"b": {
			Turns:      1,
			TurnsToday: 1,
			Spent:      4,
			SpentToday: 4,
		},
		"c": {},
	} {
		if got, err := l.Usage(t.Context(), channel, today); err != nil || got != want {
			t.Errorf("usage of %s is %+v, %v, want %+v", channel, got, err, want)
		}
	}
}
