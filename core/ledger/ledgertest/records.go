package ledgertest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"

	"github.com/google/uuid"
)

// Day is when everything in these tests happens; a ledger never asks a clock.
var Day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// NewID returns an id that no other record has.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Message returns a new message of an ordinary size.
func Message(channel string) *core.Message {
	return &core.Message{
		ID:         core.MessageID(NewID()),
		Channel:    core.ChannelKey(channel),
		Adapter:    "http",
		State:      core.Waiting,
		Content:    core.Content{Text: "a message of the usual length for a chat, which is about a hundred bytes or a little less"},
		ReceivedAt: Day,
	}
}

// TurnOf returns a turn of messages that wait.
func TurnOf(ms ...*core.Message) *core.Turn {
	t := &core.Turn{
		ID:        core.TurnID(NewID()),
		Channel:   ms[0].Channel,
		SessionID: "session of " + string(ms[0].Channel),
		BegunAt:   Day,
	}
	for _, m := range ms {
		t.Members = append(t.Members, m.ID)
	}
	t.Line = fmt.Appendf(nil, `{"type":"user","uuid":%q,"message":{"role":"user","content":%q}}`+"\n", t.ID, ms[0].Content.Text)
	return t
}

// Accepted returns the first change of an ordinary message: the message begins at once.
func Accepted(m *core.Message, t *core.Turn) core.Change {
	return core.Change{Accept: []*core.Message{m}, Begin: []*core.Turn{t}}
}

// Accept returns a change of new messages.
func Accept(ms ...*core.Message) core.Change { return core.Change{Accept: ms} }

func begin(ts ...*core.Turn) core.Change { return core.Change{Begin: ts} }

func end(ts ...*core.Turn) core.Change { return core.Change{End: ts} }

func amend(m *core.Message) core.Change { return core.Change{Amend: []*core.Message{m}} }

func approvals(as ...*core.Approval) core.Change { return core.Change{Approvals: as} }

func background(bs ...*core.Background) core.Change { return core.Change{Background: bs} }

func deliver(ds ...*core.Delivery) core.Change { return core.Change{Deliver: ds} }

func delivered(d *core.Delivery) core.Change { return core.Change{Delivered: []*core.Delivery{d}} }

func receive(is ...*core.Inbound) core.Change { return core.Change{Inbound: is} }

func records(rs ...*core.Record) core.Change { return core.Change{Records: rs} }

func reorder(id core.MessageID, rank int) core.Change {
	return core.Change{Reorder: []core.Rank{{ID: id, Rank: rank}}}
}

func settle(id core.MessageID, at time.Time, r core.Reply) core.Change {
	s := core.Settlement{ID: id, EndedAt: at, Reply: r}
	return core.Change{Settle: []core.Settlement{s}}
}

// Begun writes a message with its turn.
func Begun(t testing.TB, l Ledger) (*core.Message, *core.Turn) {
	t.Helper()
	m := Message("c")
	turn := TurnOf(m)
	MustWrite(t, l, Accepted(m, turn))
	return m, turn
}

// Answered returns the second change of an ordinary message, with its outcome. The turn is
// ended.
func Answered(m *core.Message, t *core.Turn) core.Change {
	reply := core.Reply{
		State:     core.Answered,
		Text:      "the answer to " + string(m.ID),
		Duration:  time.Second,
		CostUSD:   0.25,
		SessionID: t.SessionID,
	}
	t.EndedAt = Day.Add(time.Second)
	t.CostUSD = 0.25
	t.Result = &core.Result{
		Turns:     []core.TurnID{t.ID},
		Text:      reply.Text,
		SessionID: t.SessionID,
		TotalCost: 1.5,
		NumTurns:  1,
	}
	t.Marks = []core.Mark{
		{At: Day, What: "begun"},
		{At: t.EndedAt, What: "ended"},
	}
	return core.Change{Settle: []core.Settlement{{ID: m.ID, EndedAt: t.EndedAt, Reply: reply}}, End: []*core.Turn{t}}
}

// WantBalance fails the test unless the account of all messages is even, and the wanted one.
func WantBalance(t testing.TB, l Ledger, want core.Balance) {
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

// wantRead fails the test unless a read has returned what is wanted.
func wantRead[T any](t testing.TB, what string, got T, err error, want T) {
	t.Helper()
	check.OK(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %+.2000v\nwant %+.2000v", what, got, want)
	}
}

func wantNotFound(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, core.ErrNotFound) {
		t.Errorf("%s: error = %v, want ErrNotFound", what, err)
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

// Write writes a change and returns its error once the change has landed.
func Write(l Ledger, c core.Change) error {
	landed := make(chan error, 1)
	l.Write(c, func(err error) { landed <- err })
	return <-landed
}

// MustWrite is Write for a change that must not fail.
func MustWrite(t testing.TB, l Ledger, c core.Change) {
	t.Helper()
	check.OK(t, Write(l, c))
}

// Hold keeps the goroutine of the ledger busy until release is called, so that what is written
// meanwhile is written together. (A callback must not block; here that is the point.)
func Hold(l Ledger) (release func()) {
	held := make(chan struct{})
	free := make(chan struct{})
	l.Write(core.Change{}, func(error) { close(held); <-free })
	<-held
	return func() { close(free) }
}

// WriteTogether writes changes that a ledger may commit together, and returns their errors.
func WriteTogether(l Ledger, changes []core.Change) []error {
	release := Hold(l)
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	wg.Add(len(changes))
	for i, c := range changes {
		l.Write(c, func(err error) { errs[i] = err; wg.Done() })
	}
	release()
	wg.Wait()
	return errs
}
