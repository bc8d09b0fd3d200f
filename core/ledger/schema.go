package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
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

// firstReader is the min_reader of a file that lost nothing to a later program. Programs
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

// versionOf reads the version from a file.
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
		return fmt.Errorf("it has schema %d, which only a bareclaw that knows schema %d or a later one reads, and this one knows %d; "+
			"use the newer bareclaw that wrote it", file.Schema, file.MinReader, known)
	case file.Schema >= known:
		return nil
	}
	return transaction(c, strings.Join(migrations[file.Schema:], "")+
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, known))
}

// transaction runs a script atomically.
func transaction(c *sql.Conn, script string) error {
	_, err := c.ExecContext(context.Background(), "BEGIN IMMEDIATE;"+script+"COMMIT")
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

// scalar returns the integer result of a query.
func scalar(c *sql.Conn, text string) (n int64, err error) {
	err = c.QueryRowContext(context.Background(), text).Scan(&n)
	return n, err
}
