package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/internal/testkit/check"
)

// unposted counts the arrivals in the file.
func unposted(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check.OK(t, err)
	defer func() { check.OK(t, db.Close()) }()
	check.OK(t, db.QueryRow("SELECT count(*) FROM arrivals").Scan(&n))
	return n
}

// A new message is not in its tables at once, and nobody can tell.
func TestArrivals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	running, waiting := ledgertest.Message("c"), ledgertest.Message("c")
	turn := ledgertest.TurnOf(running)
	ledgertest.WriteTogether(l, []core.Change{ledgertest.Accepted(running, turn), {Accept: []*core.Message{waiting}}})
	if n := unposted(t, path); n != 2 {
		t.Errorf("%d arrivals wait, want 2", n)
	}
	ms, ts, err := l.Open(t.Context())
	check.OK(t, err)
	if len(ms) != 2 || ms[0].ID != running.ID || ms[0].State != core.Running || ms[1].ID != waiting.ID || ms[1].State != core.Waiting {
		t.Errorf("open messages = %+v", ms)
	}
	if len(ts) != 1 || ts[0].ID != turn.ID || string(ts[0].Line) != string(turn.Line) || ts[0].SessionID != turn.SessionID {
		t.Errorf("open turns = %+v", ts)
	}
	if n := unposted(t, path); n != 0 {
		t.Errorf("%d arrivals wait after they were read", n)
	}
	ledgertest.WantBalance(t, l, core.Balance{Accepted: 2, Waiting: 2})
}

// What can be a duplicate, opens a session or is large goes to the tables at once.
func TestNoArrivals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	keyed, opening, large := ledgertest.Message("c"), ledgertest.Message("c"), ledgertest.Message("c")
	keyed.SourceKey = "key"
	opens := ledgertest.TurnOf(opening)
	opens.Opens = true
	large.Content.Text = strings.Repeat("x", 5000)
	for _, c := range []core.Change{{Accept: []*core.Message{keyed}}, ledgertest.Accepted(opening, opens), {Accept: []*core.Message{large}}} {
		ledgertest.MustWrite(t, l, c)
	}
	if n := unposted(t, path); n != 0 {
		t.Errorf("%d arrivals wait", n)
	}
	ledgertest.WantBalance(t, l, core.Balance{Accepted: 3, Waiting: 3})
}

func TestArrivalsAndOthersInOneGroup(t *testing.T) {
	t.Parallel()
	l := open(t)
	first, keyed, last := ledgertest.Message("c"), ledgertest.Message("c"), ledgertest.Message("c")
	keyed.SourceKey = "key"
	before := l.Stats()
	for _, err := range ledgertest.WriteTogether(l, []core.Change{{Accept: []*core.Message{first}}, {Accept: []*core.Message{keyed}}, {Accept: []*core.Message{last}}}) {
		check.OK(t, err)
	}
	if got := l.Stats().Commits - before.Commits; got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	ms, err := l.Messages(t.Context(), "c", 3, "")
	check.OK(t, err)
	for i, want := range []*core.Message{last, keyed, first} {
		if ms[i].ID != want.ID {
			t.Errorf("message %d is %s, want %s: the order was lost", i, ms[i].ID, want.ID)
		}
	}
}

// TestReadAfterArrivalsWerePosted: once an idle writer has posted arrivals, reads still see lazy changes.
func TestReadAfterArrivalsWerePosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := open(t)
		m, turn := ledgertest.Begun(t, l)
		time.Sleep(time.Minute)
		turn.EndedAt = ledgertest.Day
		reply := core.Reply{State: core.Answered, Text: "ok"}
		l.Write(core.Change{Lazy: true, End: []*core.Turn{turn}, Settle: []core.Settlement{{ID: m.ID, EndedAt: ledgertest.Day, Reply: reply}}}, func(error) {})
		if got, err := l.Message(t.Context(), m.ID); err != nil || got.State != core.Answered {
			t.Errorf("state %s, %v; want answered", got.State, err)
		}
	})
}
