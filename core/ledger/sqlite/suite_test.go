package sqlite_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"

	"bareclaw/core/ledger/ledgertest"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// TestLedger holds the ledger to what every ledger promises.
func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, ledgertest.Subject{
		Open: func(dir string) (ledgertest.Ledger, error) {
			return sqlite.Open(filepath.Join(dir, "ledger.db"), slog.New(slog.DiscardHandler))
		},
		Break: breakWrites,
	})
}

// breakWrites begins a transaction that keeps the writer from beginning one.
func breakWrites(t testing.TB, dir string) (mend func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.db"))
	check.OK(t, err)
	db.SetMaxOpenConns(1) // which has the transaction
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	check.OK(t, err)
	return func() { check.OK(t, db.Close()) }
}
