package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core"
)

// applicationID marks a file as a ledger in the SQLite header ("bare"), so that the
// program never mistakes another program's database for a ledger:
// https://www.sqlite.org/pragma.html#pragma_application_id
const applicationID = 0x62617265

// migrations raise a file from schema version n (PRAGMA user_version) to n+1 when the file
// is opened. A migration only adds tables, and columns with a default, so that a program
// that does not know the migration can still use the file. Released entries never change.
//
// A migration that takes something away has to raise min_reader in the table meta, and to
// run after the trial of an upgrade, because the previous program may return until then.
//
// Columns hold the values that queries search, count or update. The rest of a record is
// one JSON document, so most new fields need no migration. Times are
// integers: nanoseconds since 1970 UTC, 0 for none. Rows are ordered by seq, never by a
// clock or an id.
var migrations = readMigrations()

//go:embed schema
var schema embed.FS

// readMigrations returns the files of schema, which are named by the version that they make.
func readMigrations() (all []string) {
	for n := 1; ; n++ {
		script, err := schema.ReadFile(fmt.Sprintf("schema/%d.sql", n))
		if err != nil {
			return all
		}
		all = append(all, string(script))
	}
}

// firstReader is the min_reader of a file from which no migration removed anything. Programs
// with fewer migrations do not know min_reader and refuse every file with a schema newer
// than their own.
const firstReader = 5

// A Version is the migration state of a ledger file, or the range of files that a
// program reads. The file stores Schema as user_version and MinReader in the table meta.
type Version struct {
	Schema    int `json:"schema"`     // number of additive migrations
	MinReader int `json:"min_reader"` // migrations that a program must know to read the file
}

// Reads reports whether a program with schema migrations can use the file.
func (v Version) Reads(schema int) bool { return schema >= v.MinReader }

// Program returns the version of a file after all migrations of the running program.
func Program() Version { return Version{Schema: len(migrations), MinReader: firstReader} }

func versionOf(c *sql.Conn) (Version, error) {
	schema, err := scalar(c, "PRAGMA user_version")
	if err != nil {
		return Version{}, err
	}
	reader := int64(firstReader) // a program without min_reader wrote the file last
	if schema > 0 {
		reader, err = scalar(c, fmt.Sprintf("SELECT coalesce(max(value), %d) FROM meta WHERE key='min_reader'", firstReader))
	}
	return Version{Schema: int(schema), MinReader: int(reader)}, err
}

// migrate raises the file to the newest schema, in one transaction. migrate leaves a newer
// file unchanged, and refuses the file only if its min_reader exceeds the known migrations.
func migrate(c *sql.Conn, migrations []string) error {
	id, tables, err := identify(c)
	if err != nil {
		return err
	}
	if id != applicationID && tables > 0 {
		return errors.New("it is the database of another program; move it away")
	}
	file, err := versionOf(c)
	if err != nil {
		return err
	}
	known := len(migrations)
	switch {
	case !file.Reads(known):
		return fmt.Errorf("it has schema %d and needs a bareclaw that knows schema %d or later, but this one knows %d; "+
			"use the newer bareclaw that wrote it", file.Schema, file.MinReader, known)
	case file.Schema >= known:
		return nil
	}
	_, err = c.ExecContext(context.Background(), fmt.Sprintf("BEGIN IMMEDIATE;%sPRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		strings.Join(migrations[file.Schema:], ""), applicationID, known))
	if err != nil {
		_, _ = c.ExecContext(context.Background(), "ROLLBACK") // fails if the script did not begin a transaction
	}
	return err
}

// identify returns the application id of a file, and how many tables and indexes it has.
func identify(c *sql.Conn) (id, tables int64, err error) {
	if id, err = scalar(c, "PRAGMA application_id"); err == nil {
		tables, err = scalar(c, "SELECT count(*) FROM sqlite_schema")
	}
	return id, tables, err
}

func scalar(c *sql.Conn, text string) (n int64, err error) {
	err = c.QueryRowContext(context.Background(), text).Scan(&n)
	return n, err
}

// ErrForeign reports that the file is another program's database.
var ErrForeign = errors.New("it is the database of another program")

// An Examination describes a ledger file, as seen without opening the file for writing.
type Examination struct {
	Version // of the file

	Size    int64 // of the file, in bytes
	LogSize int64 // size of the write-ahead log, in bytes
	Mode    fs.FileMode
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

func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// examine opens the file with the log, or as an immutable file, which creates no -wal or
// -shm file.
func examine(ctx context.Context, path string, withLog bool) (Examination, error) {
	e := Examination{Known: len(migrations)}
	info, err := os.Stat(path)
	if err != nil {
		return e, fmt.Errorf("examine ledger: %w", err)
	}
	e.Size, e.Mode = info.Size(), info.Mode().Perm()
	if info, err := os.Stat(path + "-wal"); err == nil {
		e.LogSize = info.Size()
	}
	switch err := view(path, !withLog, func(c *sql.Conn) error { return e.read(ctx, c) }); {
	case isDamaged(err):
		e.Damage, e.Checked = append(e.Damage, err.Error()), true
	case err != nil && ctx.Err() == nil:
		return e, fmt.Errorf("examine ledger %s: %w", path, err)
	}
	return e, nil
}

// read fills in everything but the sizes and the mode.
func (e *Examination) read(ctx context.Context, c *sql.Conn) error {
	id, tables, err := identify(c)
	if err != nil {
		return err
	}
	if tables == 0 {
		e.Checked = true
		return nil // a file created a moment ago: nothing to check
	}
	if id != applicationID {
		return ErrForeign
	}
	if e.Version, err = versionOf(c); err != nil {
		return err
	}
	balance, err := list(ctx, c, scanBalance, selectBalance)
	if err != nil {
		return err
	}
	e.Balance = &balance[0]
	lines, err := list(ctx, c, column[string], fmt.Sprintf("PRAGMA quick_check(%d)", maxDamage))
	e.Damage = slices.DeleteFunc(lines, func(line string) bool { return line == "ok" })
	e.Checked = err == nil
	return err
}

// Check is Examine for a file that must be a whole ledger: Check returns a foreign file,
// an empty file and damage as errors.
func Check(path string) (Version, error) {
	e, err := Examine(context.Background(), path)
	switch {
	case err != nil:
		return Version{}, err
	case len(e.Damage) > 0:
		return Version{}, fmt.Errorf("check ledger %s: it is damaged: %s", path, strings.Join(e.Damage, "; "))
	case e.Schema == 0:
		return Version{}, fmt.Errorf("check ledger %s: it is empty", path)
	}
	return e.Version, nil
}

// Inspect returns the version of the ledger file at path, without changing the file.
// Another process may have the file open. The error wraps [fs.ErrNotExist] for a missing
// file.
func Inspect(path string) (v Version, err error) {
	err = view(path, false, func(c *sql.Conn) (err error) {
		v, err = versionOf(c)
		return err
	})
	if err != nil {
		return Version{}, fmt.Errorf("inspect ledger %s: %w", path, err)
	}
	return v, nil
}

// Copy writes a consistent snapshot of the ledger file at path into a new file with mode
// 0600. Other processes may have the ledger open and write meanwhile.
func Copy(path, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite accepts an empty target file and keeps its permissions
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = view(path, false, func(c *sql.Conn) error {
			_, err := c.ExecContext(context.Background(), "VACUUM INTO ?", to)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("copy ledger %s to %s: %w", path, to, err)
	}
	return nil
}

// view opens an existing file read-only and calls f. An immutable file must not be open
// for writing anywhere.
func view(path string, immutable bool, f func(*sql.Conn) error) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name := dsn(path, "ro", "busy_timeout(5000)", "mmap_size(0)", "trusted_schema(0)")
	if immutable {
		name += "&immutable=1"
	}
	db, c, err := connect(name)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close(), db.Close())
}
