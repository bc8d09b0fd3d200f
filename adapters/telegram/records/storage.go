package records

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// StoragePause is the time between two attempts to write to the ledger.
const StoragePause = time.Second

// IsStorage reports whether the ledger could not be written.
func IsStorage(err error) bool {
	return errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull)
}

// UntilRecorded calls f until the ledger can be written, ctx ends, or f fails for
// another reason. UntilRecorded calls waiting, if not nil, before each pause.
func UntilRecorded(ctx context.Context, f func() error, waiting func(error)) error {
	for {
		err := f()
		if !IsStorage(err) || ctx.Err() != nil {
			return err
		}
		if waiting != nil {
			waiting(err)
		}
		_ = wait.Sleep(ctx, StoragePause)
	}
}
