package sqlite_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

func open(t testing.TB) *sqlite.Ledger {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state", "ledger.db"))
}

func openAt(t testing.TB, path string) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}
