package ledger

import (
	"context"
	"database/sql"
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
var migrations = []string{`
CREATE TABLE messages (
	seq           INTEGER PRIMARY KEY,             -- order of acceptance
	id            TEXT NOT NULL UNIQUE,
	channel       TEXT NOT NULL,
	source_key    TEXT,
	received_at   INTEGER NOT NULL,
	state         INTEGER NOT NULL,                -- 0 waiting 1 running 2 answered 3 failed 4 cancelled
	turn          TEXT,
	dispatched_at INTEGER NOT NULL,
	ended_at      INTEGER NOT NULL DEFAULT 0,
	doc           TEXT NOT NULL,
	content       ANY,                             -- NULL: in bodies
	outcome       TEXT,                            -- JSON, once there is one
	reply         ANY                              -- its text
) STRICT;
CREATE UNIQUE INDEX messages_source ON messages(source_key) WHERE source_key IS NOT NULL;
CREATE INDEX messages_channel ON messages(channel);
CREATE INDEX messages_open ON messages(seq) WHERE state < 2;

CREATE TABLE turns (
	seq      INTEGER PRIMARY KEY,                  -- order of beginning
	id       TEXT NOT NULL UNIQUE,
	session  TEXT NOT NULL,
	begun_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL DEFAULT 0,
	doc      TEXT NOT NULL,
	line     ANY,                                  -- NULL: in bodies
	ending   TEXT,                                 -- JSON, once it has ended
	result   ANY                                   -- the result's text
) STRICT;
-- Open turns are found by their open messages: one index less to write.

-- What is too large to be copied whenever its row changes.
CREATE TABLE bodies (
	kind  INTEGER NOT NULL,                        -- 0 message content 1 turn line
	owner TEXT NOT NULL,
	data  ANY,
	PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID;

-- A rowid table with an index on purpose: live sessions lie close together, so
-- that updating a hundred of them writes two or three pages.
CREATE TABLE sessions (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	ours       INTEGER NOT NULL,
	completed  INTEGER NOT NULL,
	total_cost REAL NOT NULL
) STRICT;

CREATE TABLE approvals (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	turn       TEXT NOT NULL,
	state      TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	decided_at INTEGER NOT NULL,
	doc        TEXT NOT NULL,
	input      ANY,
	suggestion ANY
) STRICT;
CREATE INDEX approvals_turn ON approvals(turn);
CREATE INDEX approvals_pending ON approvals(seq) WHERE state = 'pending';

CREATE TABLE backgrounds (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	channel    TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	is_error   INTEGER NOT NULL,
	text       ANY
) STRICT;
CREATE INDEX backgrounds_channel ON backgrounds(channel);

-- Counted as it happens, so that the balance is a check and not a definition.
CREATE TABLE counters (
	accepted  INTEGER NOT NULL,
	answered  INTEGER NOT NULL,
	failed    INTEGER NOT NULL,
	cancelled INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES (0, 0, 0, 0);

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, `
-- New messages with their turns that wait to be posted: see arrival.go.
CREATE TABLE arrivals (
	id          TEXT PRIMARY KEY,
	seq         INTEGER NOT NULL,                  -- order of acceptance among them
	channel     TEXT NOT NULL,
	received_at INTEGER NOT NULL,
	doc         TEXT NOT NULL,
	content     TEXT NOT NULL,
	turn        TEXT,                              -- NULL, as what follows: it waits
	session     TEXT,
	begun_at    INTEGER,
	turn_doc    TEXT,
	line        TEXT
) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE spending (
	day TEXT PRIMARY KEY,                          -- 2006-01-02, in the machine's time zone
	usd REAL NOT NULL
) STRICT, WITHOUT ROWID;
`, `
-- What adapters have to bring to remote places: see outbox.go.
CREATE TABLE deliveries (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	adapter    TEXT NOT NULL,
	channel    TEXT NOT NULL,
	message    TEXT,
	state      TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	doc        TEXT NOT NULL,
	body       ANY,
	progress   ANY
) STRICT;
CREATE INDEX deliveries_pending ON deliveries(seq) WHERE state = 'pending';
CREATE INDEX deliveries_message ON deliveries(message) WHERE message IS NOT NULL;


-- What came from remote places that forget it once it is acknowledged.
CREATE TABLE inbox (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	adapter     TEXT NOT NULL,
	received_at INTEGER NOT NULL,
	handled     INTEGER NOT NULL,
	body        ANY
) STRICT;
CREATE INDEX inbox_open ON inbox(seq) WHERE handled = 0;

-- What adapters keep for themselves.
CREATE TABLE records (
	owner TEXT NOT NULL,
	key   TEXT NOT NULL,
	at    INTEGER NOT NULL,
	doc   ANY NOT NULL,
	PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE settings (
	channel         TEXT PRIMARY KEY,
	model           TEXT,                          -- NULL: never set; '': taken back
	permission_mode TEXT                           -- likewise
) STRICT, WITHOUT ROWID;

CREATE TABLE rules (
	seq     INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	channel TEXT NOT NULL,
	rule    TEXT NOT NULL,
	doc     TEXT NOT NULL,
	UNIQUE (channel, rule)
) STRICT;

-- What waits is ordered by rank, then by acceptance.
ALTER TABLE messages ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;

-- Channels that go on under another key.
CREATE TABLE moves (
	channel  TEXT PRIMARY KEY,
	target   TEXT NOT NULL,
	session  TEXT NOT NULL,                        -- of the channel, when it was moved
	keeps    INTEGER NOT NULL,                     -- the target keeps its own
	moved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`, `
-- Jobs and what became of their due times: see schedules.go.
CREATE TABLE schedules (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	channel    TEXT NOT NULL,
	decided_to INTEGER NOT NULL,                   -- until then, occurrences have outcomes
	done_at    INTEGER NOT NULL,
	doc        TEXT NOT NULL
) STRICT;

CREATE TABLE occurrences (
	schedule   TEXT NOT NULL,
	due        INTEGER NOT NULL,
	decided_at INTEGER NOT NULL,
	outcome    TEXT NOT NULL,
	message    TEXT,
	doc        TEXT NOT NULL,
	PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;
`}

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
