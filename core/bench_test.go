package core

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
)

// A quickLedger keeps nothing: every change is durable at once.
type quickLedger struct{ Ledger }

func (quickLedger) Write(_ Change, done func(error)) { done(nil) }

func (quickLedger) Open(context.Context) ([]Message, []Turn, error) { return nil, nil, nil }

func (quickLedger) PendingApprovals(context.Context) ([]Approval, error) { return nil, nil }

func (quickLedger) Spent(context.Context, string) (float64, error) { return 0, nil }

func (quickLedger) Settings(context.Context) (map[ChannelKey]Settings, error) { return nil, nil }

func (quickLedger) Moves(context.Context) ([]Move, error) { return nil, nil }

// A quickAgent answers each turn as it is handed over.
type quickAgent struct{ Agent }

func (quickAgent) Live(context.Context) ([]ChannelKey, error) { return nil, nil }

func (quickAgent) Lasting() bool { return false }

func (quickAgent) Reserve() (string, bool) { return "", false }

func (quickAgent) Compose(_ TurnID, content json.RawMessage) ([]byte, error) { return content, nil }

func (quickAgent) Start(context.Context, ChannelKey, Launch) (Session, error) {
	return &quickSession{events: make(chan []Event, 1)}, nil
}

type quickSession struct {
	Session
	events chan []Event
	seq    uint64
}

func (*quickSession) Info() SessionInfo { return SessionInfo{Ready: true} }

func (s *quickSession) Events() <-chan []Event { return s.events }

func (s *quickSession) Ack(uint64) {}

func (s *quickSession) Detach() { close(s.events) }

func (s *quickSession) Hand(id TurnID, _ []byte) error {
	s.seq += 3
	s.events <- []Event{
		{Seq: s.seq - 2, Kind: TurnState, Turn: id, Phase: PhaseStarted},
		{Seq: s.seq - 1, Kind: Resulted, Result: &Result{Turns: []TurnID{id}, Text: "ok"}},
		{Seq: s.seq, Kind: TurnState, Turn: id, Phase: PhaseCompleted},
	}
	return nil
}

// BenchmarkMessage is what a message costs in this package: its lane has a
// session, and ledger and agent take no time.
func BenchmarkMessage(b *testing.B) {
	m := New(Options{
		Ledger: quickLedger{}, Agent: quickAgent{}, Sessions: &fakeSessions{ids: map[ChannelKey]string{}},
		Log: slog.New(slog.DiscardHandler),
	})
	if err := m.Recover(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer m.Detach()
	s := submission("hello")
	b.ReportAllocs()
	for b.Loop() {
		t, err := m.SubmitAndWait(b.Context(), s, nil)
		if err != nil || t.Outcome().State != Answered {
			b.Fatal(t, err)
		}
	}
}
