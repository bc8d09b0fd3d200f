package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// Whoever reads while the ledger is closed is told so: during a hand-over the
// question is then passed on.
func TestReadWhileClosing(t *testing.T) {
	t.Parallel()
	for range 5 {
		l, err := Open(filepath.Join(t.TempDir(), "ledger.db"), slog.New(slog.DiscardHandler))
		check.OK(t, err)
		var reading, readers sync.WaitGroup
		for range 4 {
			reading.Add(1)
			readers.Go(func() {
				_, err := l.Balance(context.Background())
				for reading.Done(); err == nil; _, err = l.Balance(context.Background()) {
				}
				if !errors.Is(err, core.ErrClosed) {
					t.Errorf("read: %v", err)
				}
			})
		}
		reading.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		readers.Wait()
	}
}
