package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

func wantSpent(t *testing.T, l *sqlite.Ledger, on time.Time, want float64) {
	t.Helper()
	got, err := l.Spent(t.Context(), core.Day(on))
	if err != nil || got != want {
		t.Errorf("spent on %s: %v (%v), want %v", core.Day(on), got, err, want)
	}
}

// What is written again after a crash is paid once, and each day by itself.
func TestSpending(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	wantSpent(t, l, day, 0)
	m, turn := begun(t, l)
	c := answered(m, turn)
	mustWrite(t, l, c)
	mustWrite(t, l, c)
	next := day.AddDate(0, 0, 1)
	b := &core.Background{ID: "b", Channel: "c", Text: "done", CreatedAt: next, SessionID: turn.SessionID, CostUSD: 0.5, TotalCost: 2}
	mustWrite(t, l, core.Change{Background: []*core.Background{b}, Lazy: true})
	mustWrite(t, l, core.Change{Background: []*core.Background{b}, Lazy: true})
	wantSpent(t, l, day, 0.25)
	wantSpent(t, l, next, 0.5)
	check.OK(t, l.Close())
	l = openAt(t, path)
	wantSpent(t, l, day, 0.25)
	wantSpent(t, l, next, 0.5)
	second, again := begun(t, l)
	again.EndedAt, again.CostUSD = next, 0.125
	mustWrite(t, l, core.Change{End: []*core.Turn{again}, Requeue: []core.MessageID{second.ID}}) // a turn that is to run again is paid too
	wantSpent(t, l, next, 0.625)
}

// What cannot be written is not paid.
func TestSpendingIsOfItsChange(t *testing.T) {
	t.Parallel()
	l := open(t)
	m, turn := begun(t, l)
	c := answered(m, turn)
	c.End = append(c.End, turnOf(m)) // of which nothing is known
	c.End[1].EndedAt = day
	if err := write(l, c); err == nil {
		t.Error("the end of an unknown turn was written")
	}
	wantSpent(t, l, day, 0)
	mustWrite(t, l, answered(m, turn))
	wantSpent(t, l, day, 0.25)
}

// The running total of a session is the highest of its results, also in the background: they may be
// written in another order.
func TestSessionTotal(t *testing.T) {
	t.Parallel()
	l := open(t)
	end := func(total float64) {
		m, turn := begun(t, l)
		c := answered(m, turn)
		turn.Result.TotalCost = total
		mustWrite(t, l, c)
	}
	end(2)
	end(1.5)
	session := turnOf(message("c")).SessionID
	wantUse(t, l, session, core.SessionUse{Completed: true, TotalCost: 2})
	for i, total := range []float64{1, 2.5} {
		b := &core.Background{ID: string(rune('a' + i)), Channel: "c", CreatedAt: day, SessionID: session, TotalCost: total}
		mustWrite(t, l, core.Change{Background: []*core.Background{b}})
	}
	wantUse(t, l, session, core.SessionUse{Completed: true, TotalCost: 2.5})
	b := &core.Background{ID: "c", Channel: "c", CreatedAt: day, SessionID: "another", TotalCost: 3}
	mustWrite(t, l, core.Change{Background: []*core.Background{b}})
	wantUse(t, l, "another", core.SessionUse{TotalCost: 3})
}
