package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"bareclaw/core"

	"modernc.org/sqlite"
)

// ErrForeign reports that the file is another program's database.
var ErrForeign = errors.New("it is the database of another program")

// An Examination describes a ledger file, as seen without opening the file for writing.
type Examination struct {
	Size    int64 // of the file, in bytes
	LogSize int64 // size of the write-ahead log, in bytes
	Mode    fs.FileMode
	Schema  int           // schema version of the file
	Known   int           // newest schema version known to the program
	Damage  []string      // findings of SQLite's check, at most maxDamage lines
	Checked bool          // the whole file was checked for damage
	Balance *core.Balance // nil if unreadable
}

// maxDamage bounds the reported lines about damage; the first lines suffice for a
// diagnosis.
const maxDamage = 5

// Examine inspects a ledger file that a daemon may be using, without changing the file
// or blocking the daemon. Examine blocks in proportion to the file's size (a second for
// 350 MB in the page cache). If ctx ends during the check, Checked is false and the
// result holds the values read before. The error is [fs.ErrNotExist] for a missing
// ledger and [ErrForeign] for another program's file.
func Examine(ctx context.Context, path string) (Examination, error) {
	e, err := examine(ctx, path, hasLog(path))
	if err == nil && len(e.Damage) > 0 && hasLog(path) {
		return examine(ctx, path, true) // a process has begun to write meanwhile, and the check without the log was wrong
	}
	return e, err
}

// hasLog reports whether the write-ahead log holds changes.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// examine opens the file with the log, or as an immutable file, which creates no -wal or
// -shm file.
func examine(ctx context.Context, path string, withLog bool) (e Examination, err error) {
	e.Known = len(migrations)
	info, err := os.Stat(path)
	if err != nil {
		return e, fmt.Errorf("examine ledger: %w", err)
	}
	e.Size, e.Mode = info.Size(), info.Mode().Perm()
	if info, err := os.Stat(path + "-wal"); err == nil {
		e.LogSize = info.Size()
	}
	if path, err = filepath.Abs(path); err != nil {
		return e, fmt.Errorf("examine ledger: %w", err)
	}
	connector, err := sqlite.NewConnector(examinerDSN(path, withLog))
	if err != nil {
		return e, fmt.Errorf("examine ledger: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	switch err := e.read(ctx, db); {
	case isDamaged(err):
		e.Damage, e.Checked = append(e.Damage, err.Error()), true
	case err != nil && ctx.Err() == nil:
		return e, fmt.Errorf("examine ledger %s: %w", path, err)
	}
	return e, nil
}

func examinerDSN(path string, withLog bool) string {
	name := readerDSN(path)
	if !withLog {
		name += "&" + url.Values{"immutable": {"1"}}.Encode()
	}
	return name
}

func (e *Examination) read(ctx context.Context, db *sql.DB) error {
	var id, tables int64
	for query, into := range map[string]any{
		"PRAGMA application_id": &id, "PRAGMA user_version": &e.Schema, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	if tables == 0 {
		e.Checked = true
		return nil // a file created a moment ago: nothing to check
	}
	if id != applicationID {
		return ErrForeign
	}
	var b core.Balance
	err := db.QueryRowContext(ctx, selectBalance).Scan(&b.Accepted, &b.Answered, &b.Failed, &b.Cancelled, &b.Waiting)
	if err != nil {
		return err
	}
	e.Balance = &b
	return e.search(ctx, db)
}

// search runs SQLite's quick_check on the whole file.
func (e *Examination) search(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA quick_check(%d)", maxDamage))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			e.Damage = append(e.Damage, line)
		}
	}
	e.Checked = rows.Err() == nil
	return rows.Err()
}
