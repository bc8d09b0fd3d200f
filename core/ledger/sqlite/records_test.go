package sqlite_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"

	"github.com/google/uuid"
)

// day is when everything in these tests happens; the ledger never asks a clock.
var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t testing.TB) *sqlite.Ledger {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state", "ledger.db"))
}

func openAt(t testing.TB, path string) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// write waits for a change to land.
func write(l *sqlite.Ledger, c core.Change) error {
	landed := make(chan error, 1)
	l.Write(c, func(err error) { landed <- err })
	return <-landed
}

func mustWrite(t testing.TB, l *sqlite.Ledger, c core.Change) {
	t.Helper()
	check.OK(t, write(l, c))
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func message(channel string) *core.Message {
	return &core.Message{
		ID: core.MessageID(newID()), Channel: core.ChannelKey(channel), Adapter: "http", State: core.Waiting,
		Content:    core.Content{Text: "a message of the usual length for a chat, which is about a hundred bytes or a little less"},
		ReceivedAt: day,
	}
}

func turnOf(ms ...*core.Message) *core.Turn {
	t := &core.Turn{
		ID: core.TurnID(newID()), Channel: ms[0].Channel, SessionID: "session of " + string(ms[0].Channel), BegunAt: day,
	}
	for _, m := range ms {
		t.Members = append(t.Members, m.ID)
	}
	t.Line = fmt.Appendf(nil, `{"type":"user","uuid":%q,"message":{"role":"user","content":%q}}`+"\n", t.ID, ms[0].Content.Text)
	return t
}

// accepted and answered are the two changes of an ordinary message.
func accepted(m *core.Message, t *core.Turn) core.Change {
	return core.Change{Accept: []*core.Message{m}, Begin: []*core.Turn{t}}
}

// begun writes a message with its turn.
func begun(t testing.TB, l *sqlite.Ledger) (*core.Message, *core.Turn) {
	t.Helper()
	m := message("c")
	turn := turnOf(m)
	mustWrite(t, l, accepted(m, turn))
	return m, turn
}

func answered(m *core.Message, t *core.Turn) core.Change {
	reply := core.Reply{State: core.Answered, Text: "the answer to " + string(m.ID), Duration: time.Second, CostUSD: 0.25, SessionID: t.SessionID}
	t.EndedAt, t.CostUSD = day.Add(time.Second), 0.25
	t.Result = &core.Result{Turns: []core.TurnID{t.ID}, Text: reply.Text, SessionID: t.SessionID, TotalCost: 1.5, NumTurns: 1}
	t.Marks = []core.Mark{{At: day, What: "begun"}, {At: t.EndedAt, What: "ended"}}
	return core.Change{Settle: []core.Settlement{{ID: m.ID, EndedAt: t.EndedAt, Reply: reply}}, End: []*core.Turn{t}}
}

func wantBalance(t testing.TB, l *sqlite.Ledger, want core.Balance) {
	t.Helper()
	got, err := l.Balance(t.Context())
	check.OK(t, err)
	if got != want {
		t.Errorf("balance = %+v, want %+v", got, want)
	}
	if !got.Even() {
		t.Errorf("balance %+v is not even", got)
	}
}

func wantDuplicate(t testing.TB, err error, of core.MessageID, hash string) {
	t.Helper()
	var dup *core.DuplicateError
	if !errors.As(err, &dup) {
		t.Fatalf("error = %v, want a *core.DuplicateError", err)
	}
	if dup.Existing != of || dup.Hash != hash {
		t.Errorf("duplicate of %s (hash %q), want %s (hash %q)", dup.Existing, dup.Hash, of, hash)
	}
}
