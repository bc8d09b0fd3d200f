package lanes

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
)

// Receive puts what came in on record, and forgets what was handled long ago. It
// returns once that is durable.
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

// inboundKept is how long it is known that something was handled. No remote place
// may deliver it again after that.
const inboundKept = 72 * time.Hour

// Handled records that nothing is left to be done about what came in. It returns
// once that is durable.
func (m *Manager) Handled(ctx context.Context, ids ...string) error {
	if err := m.write(ctx, core.Change{Handled: ids}); err != nil {
		return fmt.Errorf("record what was handled: %w", err)
	}
	return nil
}

// Unhandled returns what an adapter has received and not handled, in order.
func (m *Manager) Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error) {
	return m.o.Ledger.Unhandled(ctx, adapter)
}

// LastInbound returns the newest of what an adapter has received, handled or not,
// or ErrNotFound.
func (m *Manager) LastInbound(ctx context.Context, adapter string) (core.Inbound, error) {
	return m.o.Ledger.LastInbound(ctx, adapter)
}

// PutRecords writes records, over those with the same owner and key; one without a Doc
// removes. It sets their At, and returns once they are durable.
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

// Records returns the owner's records whose key begins with prefix, by key.
func (m *Manager) Records(ctx context.Context, owner, prefix string) ([]core.Record, error) {
	return m.o.Ledger.Records(ctx, owner, prefix)
}

// Record returns one record, or ErrNotFound.
func (m *Manager) Record(ctx context.Context, owner, key string) (core.Record, error) {
	return m.o.Ledger.Record(ctx, owner, key)
}

// ForgetRecords removes records. It returns once that is durable.
func (m *Manager) ForgetRecords(ctx context.Context, rs ...core.RecordRange) error {
	if err := m.write(ctx, core.Change{ForgetRecords: rs}); err != nil {
		return fmt.Errorf("forget records: %w", err)
	}
	return nil
}
