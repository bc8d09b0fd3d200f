package core

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A Record is a small thing that an adapter keeps: it is only the adapter's to
// understand.
type Record struct {
	Owner string          // the adapter
	Key   string          // unique for the owner
	Doc   json.RawMessage // nil: there is none any more
	At    time.Time       // when it was written
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

// A RecordRange names records: the owner's whose key begins with Prefix and that
// were written before a time.
type RecordRange struct {
	Owner, Prefix string
	Before        time.Time
}

// ForgetRecords removes records. It returns once that is durable.
func (m *ProcessManager) ForgetRecords(ctx context.Context, rs ...RecordRange) error {
	if err := m.write(ctx, Change{ForgetRecords: rs}); err != nil {
		return fmt.Errorf("forget records: %w", err)
	}
	return nil
}
