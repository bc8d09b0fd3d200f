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

// ForgetRecords removes the owner's records whose key begins with prefix and that
// were written before a time.
func (m *ProcessManager) ForgetRecords(ctx context.Context, owner, prefix string, before time.Time) error {
	rs, err := m.Records(ctx, owner, prefix)
	if err != nil {
		return err
	}
	var gone []*Record
	for _, r := range rs {
		if r.At.Before(before) {
			gone = append(gone, &Record{Owner: owner, Key: r.Key})
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return m.Keep(ctx, gone...)
}
