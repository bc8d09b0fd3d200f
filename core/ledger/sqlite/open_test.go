package sqlite_test

import (
	"database/sql"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a ?#%20&dir", "state")
	l := openAt(t, filepath.Join(dir, "ledger.db"))
	ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{ledgertest.Message("c")}})
	ledgertest.WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1}) // a reader is open, too
	for name, want := range map[string]fs.FileMode{".": 0o700, "ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		check.OK(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestLooseFileIsRestricted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	check.OK(t, openAt(t, path).Close())
	check.OK(t, os.Chmod(path, 0o666))
	openAt(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file is %v, %v, want mode 600", info.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	healthy := func(t *testing.T, path string) []byte {
		l := openAt(t, path)
		for range 200 {
			ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{ledgertest.Message("c")}})
		}
		check.OK(t, l.Close())
		b, err := os.ReadFile(path)
		check.OK(t, err)
		return b
	}
	put := func(t *testing.T, path string, b []byte) {
		check.OK(t, os.WriteFile(path, b, 0o600))
	}
	query := func(t *testing.T, path, script string) {
		db, err := sql.Open("sqlite", path)
		check.OK(t, err)
		defer func() { check.OK(t, db.Close()) }()
		if _, err := db.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		make func(t *testing.T, path string)
		says string
	}{
		"no database":    {func(t *testing.T, path string) { put(t, path, []byte(strings.Repeat("rubbish", 1000))) }, "move it away"},
		"cut short":      {func(t *testing.T, path string) { put(t, path, healthy(t, path)[:5000]) }, "move it away"},
		"schema damaged": {func(t *testing.T, path string) { b := healthy(t, path); clear(b[100:3000]); put(t, path, b) }, "move it away"},
		"foreign":        {func(t *testing.T, path string) { query(t, path, "CREATE TABLE x(y)") }, "another program"},
		"newer": {func(t *testing.T, path string) {
			healthy(t, path)
			query(t, path, "PRAGMA user_version=99; INSERT INTO meta VALUES('min_reader', 98)")
		}, "schema 99"},
		"older": {func(t *testing.T, path string) {
			healthy(t, path)
			query(t, path, "PRAGMA user_version=7")
		}, "move it away together with its -wal and -shm files"},
		"tables tampered": {func(t *testing.T, path string) { healthy(t, path); query(t, path, "DROP TABLE turns") }, "not as expected"},
		"a directory":     {func(t *testing.T, path string) { check.OK(t, os.Mkdir(path, 0o700)) }, "regular file"},
		"no directory": {func(t *testing.T, path string) {
			check.OK(t, os.Remove(filepath.Dir(path)))
			put(t, filepath.Dir(path), nil)
		}, "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state", "ledger.db")
			check.OK(t, os.Mkdir(filepath.Dir(path), 0o700))
			c.make(t, path)
			l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Fatal("it was opened", l.Close())
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("error = %v, want one that names the file and says %q", err, c.says)
			}
		})
	}
}

// Searches that run often must not read whole tables.
func TestQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	openAt(t, path)
	db, err := sql.Open("sqlite", path)
	check.OK(t, err)
	defer func() { check.OK(t, db.Close()) }()
	for query, index := range map[string]string{
		"SELECT count(*) FROM messages WHERE state<2":                         "messages_open",
		"SELECT id FROM messages m WHERE m.state<2 ORDER BY m.seq":            "messages_open",
		"SELECT id FROM messages WHERE channel=? AND seq<? ORDER BY seq DESC": "messages_channel",
		"SELECT id FROM messages WHERE source_key=?":                          "messages_source",
		"SELECT turn FROM messages WHERE state<2 AND turn IS NOT NULL":        "messages_open",
		"SELECT id FROM approvals WHERE state='pending' ORDER BY seq":         "approvals_pending",
		"SELECT id FROM approvals WHERE turn=? ORDER BY seq":                  "approvals_turn",
		"SELECT channel, count(*), max(seq) FROM messages GROUP BY channel":   "messages_channel",
	} {
		var id, parent, unused int
		var detail string
		check.OK(t, db.QueryRow("EXPLAIN QUERY PLAN "+query, 1, 1).Scan(&id, &parent, &unused, &detail))
		if !strings.Contains(detail, index) {
			t.Errorf("%s: plan is %q, want index %s", query, detail, index)
		}
	}
}
