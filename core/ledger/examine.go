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

// ErrForeign is the error for a file that is the database of another program.
var ErrForeign = errors.New("it is the database of another program")

// An Examination is what can be told of a ledger's file from outside.
type Examination struct {
	Size    int64 // of the file, in bytes
	LogSize int64 // of what was not copied into it yet
	Mode    fs.FileMode
	Schema  int           // of the file
	Known   int           // the newest that this program knows
	Damage  []string      // what SQLite finds wrong with the file, a few lines at most
	Checked bool          // the whole file was searched for damage
	Balance *core.Balance // nil where it cannot be read
}

// maxDamage is how many lines about damage are kept: the first tells enough.
const maxDamage = 5

// Examine looks at a ledger that a daemon may be using, without changing it and
// without keeping the daemon from its work. It blocks in proportion to the file's
// size (a second for 350 MB in the page cache); when ctx ends during that, Checked is
// false and what is known is returned. The error is [fs.ErrNotExist] where there is
// no ledger, and [ErrForeign] for another program's file.
func Examine(ctx context.Context, path string) (Examination, error) {
	e, err := examine(ctx, path, hasLog(path))
	if err == nil && len(e.Damage) > 0 && hasLog(path) {
		return examine(ctx, path, true) // somebody has begun to write meanwhile
	}
	return e, err
}

// hasLog reports whether there are changes that are not in the file itself.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// examine opens the file with its log, or alone, which leaves no trace of having
// been there.
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
		return nil // made a moment ago: there is nothing to search
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

// search has SQLite look through the whole file.
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
