package lanes

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
)

// ledgers are the implementations on which random lives are played.
var ledgers = map[string]openLedger{"sqlite": openSQLite}

// emptyFile returns the file of a ledger without records. To copy the file is quicker than to make the tables.
var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "lanes")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "ledger")
	l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
	if err == nil {
		err = l.Close()
	}
	file, readErr := os.ReadFile(path)
	return file, errors.Join(err, readErr, os.RemoveAll(dir))
})

// openSQLite opens a ledger in a temporary directory.
func openSQLite(t *testing.T) core.Ledger {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lanes") // in memory a sync costs nothing
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // in memory, or removed by the testing package
	path := filepath.Join(dir, "ledger")
	empty, err := emptyFile()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
