package lanes

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"bareclaw/core"
)

// A quickLedger keeps nothing: every change is durable at once.
type quickLedger struct{ core.Ledger }

func (quickLedger) Write(_ core.Change, done func(error)) { done(nil) }

func (quickLedger) Open(context.Context) ([]core.Message, []core.Turn, error) { return nil, nil, nil }

func (quickLedger) PendingApprovals(context.Context) ([]core.Approval, error) { return nil, nil }

func (quickLedger) Spent(context.Context, string) (float64, error) { return 0, nil }

func (quickLedger) Settings(context.Context) (map[core.ChannelKey]core.Settings, error) {
	return nil, nil
}

// A quickAgent answers each turn as it is handed over.
type quickAgent struct{ core.Agent }

func (quickAgent) Live(context.Context) ([]core.ChannelKey, error) { return nil, nil }

func (quickAgent) Lasting() bool { return false }

func (quickAgent) Reserve() (string, bool) { return "", false }

func (quickAgent) Compose(_ core.TurnID, content json.RawMessage) ([]byte, error) {
	return content, nil
}

func (quickAgent) Start(context.Context, core.ChannelKey, core.Launch) (core.Session, error) {
	return &quickSession{events: make(chan *core.Batch, 1)}, nil
}

type quickSession struct {
	core.Session
	events chan *core.Batch
	seq    uint64
}

func (*quickSession) Info() core.SessionInfo { return core.SessionInfo{Ready: true} }

func (s *quickSession) Events() <-chan *core.Batch { return s.events }

func (s *quickSession) Ack(uint64) {}

func (s *quickSession) Detach() { close(s.events) }

func (s *quickSession) Hand(id core.TurnID, _ []byte) error {
	s.seq += 3
	batch := core.NewBatch()
	batch.Add(core.Event{Seq: s.seq - 2, Kind: core.TurnState, Turn: id, Phase: core.PhaseStarted})
	batch.Add(core.Event{Seq: s.seq - 1, Kind: core.Resulted, Result: &core.Result{Turns: []core.TurnID{id}, Text: "ok"}})
	batch.Add(core.Event{Seq: s.seq, Kind: core.TurnState, Turn: id, Phase: core.PhaseCompleted})
	s.events <- batch
	return nil
}

// BenchmarkMessage is what a message costs in this package: its lane has a
// session, and ledger and agent take no time.
func BenchmarkMessage(b *testing.B) {
	m := New(Options{
		Ledger: quickLedger{}, Agent: quickAgent{}, Sessions: &fakeSessions{ids: map[core.ChannelKey]string{}},
		Log: slog.New(slog.DiscardHandler),
	})
	if err := m.Recover(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	defer m.Detach()
	s := submission("hello")
	b.ReportAllocs()
	for b.Loop() {
		t, err := m.SubmitAndWait(b.Context(), s, nil)
		if err != nil || t.Outcome().State != core.Answered {
			b.Fatal(t, err)
		}
	}
}
