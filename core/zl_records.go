package core

import (
	"context"
	"fmt"
	"time"
)

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

// inboundKept is how long it is known that something was handled. No remote place
// may deliver it again after that.
const inboundKept = 72 * time.Hour

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

// Keep writes records. It returns once they are durable.
func (m *ProcessManager) Keep(ctx context.Context, rs ...*Record) error {
	now := m.o.Now()
	for _, r := range rs {
		r.At = now
	}
	if err := m.write(ctx, Change{Records: rs}); err != nil {
		return fmt.Errorf("keep records: %w", err)
	}
	return nil
}

// Records returns the owner's records whose key begins with prefix, by key.
func (m *ProcessManager) Records(ctx context.Context, owner, prefix string) ([]Record, error) {
	return m.o.Ledger.Records(ctx, owner, prefix)
}

// Record returns one record, or ErrNotFound.
func (m *ProcessManager) Record(ctx context.Context, owner, key string) (Record, error) {
	return m.o.Ledger.Record(ctx, owner, key)
}

// ForgetRecords removes records. It returns once that is durable.
func (m *ProcessManager) ForgetRecords(ctx context.Context, rs ...RecordRange) error {
	if err := m.write(ctx, Change{ForgetRecords: rs}); err != nil {
		return fmt.Errorf("forget records: %w", err)
	}
	return nil
}
