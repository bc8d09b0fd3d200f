package lanes

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
)

// Receive records inbound items, and forgets items handled more than inboundKept ago.
// Receive returns once the change is durable.
func (m *Manager) Receive(ctx context.Context, in []*core.Inbound) error {
	now := m.o.Now()
	for _, i := range in {
		if i.ReceivedAt.IsZero() {
			i.ReceivedAt = now
		}
	}
	if err := m.write(ctx, core.Change{Inbound: in, ForgetInbound: now.Add(-inboundKept)}); err != nil {
		return fmt.Errorf("record what came in: %w", err)
	}
	return nil
}

// inboundKept is how long handled items stay recorded. No remote service may deliver an item
// again after inboundKept.
const inboundKept = 72 * time.Hour

// Handled marks inbound items as completely handled. Handled returns once the change is
// durable.
func (m *Manager) Handled(ctx context.Context, ids ...string) error {
	if err := m.write(ctx, core.Change{Handled: ids}); err != nil {
		return fmt.Errorf("record what was handled: %w", err)
	}
	return nil
}

// Unhandled returns the adapter's inbound items not handled yet, in order.
func (m *Manager) Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error) {
	return m.o.Ledger.Unhandled(ctx, adapter)
}

// LastInbound returns the adapter's newest inbound item, handled or not, or ErrNotFound.
func (m *Manager) LastInbound(ctx context.Context, adapter string) (core.Inbound, error) {
	return m.o.Ledger.LastInbound(ctx, adapter)
}

// PutRecords writes records, replacing records with the same owner and key; a record without
// a Doc removes the existing record. PutRecords sets At, and returns once the records are
// durable.
func (m *Manager) PutRecords(ctx context.Context, rs ...*core.Record) error {
	now := m.o.Now()
	for _, r := range rs {
		r.At = now
	}
	if err := m.write(ctx, core.Change{Records: rs}); err != nil {
		return fmt.Errorf("keep records: %w", err)
	}
	return nil
}

// Records returns the owner's records with keys beginning with prefix, sorted by key.
func (m *Manager) Records(ctx context.Context, owner, prefix string) ([]core.Record, error) {
	return m.o.Ledger.Records(ctx, owner, prefix)
}

// Record returns a record, or ErrNotFound.
func (m *Manager) Record(ctx context.Context, owner, key string) (core.Record, error) {
	return m.o.Ledger.Record(ctx, owner, key)
}

// ForgetRecords removes records, and returns once the removal is durable.
func (m *Manager) ForgetRecords(ctx context.Context, rs ...core.RecordRange) error {
	if err := m.write(ctx, core.Change{ForgetRecords: rs}); err != nil {
		return fmt.Errorf("forget records: %w", err)
	}
	return nil
}
