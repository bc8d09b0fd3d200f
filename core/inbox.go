package core

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// An Inbound is something that came from a remote place which forgets it once it
// is acknowledged: it is on record before that, and stays open until the adapter
// has made of it what there is to be made.
type Inbound struct {
	ID         string // unique: a second one with the same id is ignored
	Adapter    string
	Body       json.RawMessage // as it came
	ReceivedAt time.Time
	Handled    bool // Body is gone then
}

// inboundKept is how long it is known that something was handled. No remote place
// may deliver it again after that.
const inboundKept = 72 * time.Hour

// Receive puts what came in on record, and forgets what was handled long ago. It
// returns once that is durable.
func (m *ProcessManager) Receive(ctx context.Context, in []*Inbound) error {
	now := m.o.Now()
	for _, i := range in {
		if i.ReceivedAt.IsZero() {
			i.ReceivedAt = now
		}
	}
	if err := m.write(ctx, Change{Inbound: in, ForgetInbound: now.Add(-inboundKept)}); err != nil {
		return fmt.Errorf("record what came in: %w", err)
	}
	return nil
}

// Handled records that nothing is left to be done about what came in. It returns
// once that is durable.
func (m *ProcessManager) Handled(ctx context.Context, ids ...string) error {
	if err := m.write(ctx, Change{Handled: ids}); err != nil {
		return fmt.Errorf("record what was handled: %w", err)
	}
	return nil
}

// Unhandled returns what an adapter has received and not handled, in order.
func (m *ProcessManager) Unhandled(ctx context.Context, adapter string) ([]Inbound, error) {
	return m.o.Ledger.Unhandled(ctx, adapter)
}

// LastInbound returns the newest of what an adapter has received, handled or not,
// or ErrNotFound.
func (m *ProcessManager) LastInbound(ctx context.Context, adapter string) (Inbound, error) {
	return m.o.Ledger.LastInbound(ctx, adapter)
}
