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

// firstSchema is the schema version (PRAGMA user_version) of the first migration, which makes
// the tables of a new file. The schemas before were never released.
const firstSchema = 8

// migrations are the files of the directory schema, named by the version that they make, in
// order. The first one makes the tables of a new file; each further one raises a file by one
// version when the file is opened. A further migration only adds tables, and columns with a
// default, so that a program that does not know the migration can still use the file. When such a
// program removes a channel, the channel's rows in tables that it does not know stay.
// Released migrations never change.
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

func readMigrations() (all []string) {
	for n := firstSchema; ; n++ {
		script, err := schema.ReadFile(fmt.Sprintf("schema/%d.sql", n))
		if err != nil {
			return all
		}
		all = append(all, string(script))
	}
}

// newest returns the schema version that migrations make.
func newest(migrations []string) int { return firstSchema - 1 + len(migrations) }

// A Version is the state of a ledger file, or the range of files that a program reads. The
// file stores Schema as user_version and MinReader in the table meta.
type Version struct {
	Schema    int `json:"schema"`     // schema version, 0 for an empty file
	MinReader int `json:"min_reader"` // schema version that a program must know to read the file
}

// The errors of [Version.Readable].
var (
	ErrOlder = errors.New("the ledger is from before the first release")
	ErrNewer = errors.New("the ledger is from a newer program")
)

// Readable returns nil if the running program can use the file, otherwise an error that wraps
// [ErrOlder] or [ErrNewer] and says what to do.
func (v Version) Readable() error { return v.readable(newest(migrations)) }

// readable is Readable for a program that knows the schema versions up to known.
func (v Version) readable(known int) error {
	switch {
	case v.Schema == 0:
		return nil
	case v.Schema < firstSchema:
		return fmt.Errorf("%w: it has schema %d, and this bareclaw reads schema %d and later; use the older bareclaw that wrote it",
			ErrOlder, v.Schema, firstSchema)
	case v.MinReader > known:
		return fmt.Errorf("%w: it has schema %d, for programs that know schema %d or later, and this bareclaw knows schema %d; "+
			"use the newer bareclaw that wrote it", ErrNewer, v.Schema, v.MinReader, known)
	}
	return nil
}

// Program returns the version of a file after all migrations of the running program.
func Program() Version { return Version{Schema: newest(migrations), MinReader: firstSchema} }

func versionOf(c *sql.Conn) (Version, error) {
	schema, err := scalar(c, "PRAGMA user_version")
	if err != nil {
		return Version{}, err
	}
	reader := int64(firstSchema) // no migration has removed anything
	if schema > 0 {
		reader, err = scalar(c, fmt.Sprintf("SELECT coalesce(max(value), %d) FROM meta WHERE key='min_reader'", firstSchema))
	}
	return Version{Schema: int(schema), MinReader: int(reader)}, err
}

// migrate raises the file to the newest schema, in one transaction. migrate leaves a newer
// file unchanged, and refuses a file that is not [Version.Readable].
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
	known := newest(migrations)
	switch err := file.readable(known); {
	case errors.Is(err, ErrOlder):
		return fmt.Errorf("%w, or move it away together with its -wal and -shm files (bareclaw starts with an empty ledger)", err)
	case err != nil:
		return err
	case file.Schema >= known:
		return nil
	}
	missing := migrations
	if file.Schema > 0 {
		missing = migrations[file.Schema+1-firstSchema:]
	}
	_, err = c.ExecContext(context.Background(), fmt.Sprintf("BEGIN IMMEDIATE;%sPRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		strings.Join(missing, ""), applicationID, known))
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
	var e Examination
	info, err := os.Stat(path)
	if err != nil {
		return e, fmt.Errorf("examine ledger: %w", err)
	}
	e.Size = info.Size()
	e.Mode = info.Mode().Perm()
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
