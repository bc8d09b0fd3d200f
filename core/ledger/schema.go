package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// applicationID marks the file as ours in its header ("bare"), so that another
// program's database is never taken for a ledger:
// https://www.sqlite.org/pragma.html#pragma_application_id
const applicationID = 0x62617265

// migrations bring a file from one schema version (PRAGMA user_version) to the
// next, when it is opened. They are additive: a program that does not know an entry can
// use the file all the same, and an entry is never changed once it was released.
//
// Columns hold what is searched, counted or updated; everything else of a record
// is one JSON document (see documents.go), so that most new fields need no
// migration. Times are integers: nanoseconds since 1970 UTC, 0 for none. Order
// is that of seq, never that of a clock or an id.
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

// breaking are the migrations after which an older program would misread the file:
// what was moved to another place is taken away from the old one. They are apart from
// the others because they run at another time, when it is known that this program
// stays (see Settle), and a program that brings one must work before and after it.
//
// The additive ones leave what older programs know as it was: new tables, and new
// columns that have a default.
var breaking []breakingMigration

// A breakingMigration raises the file's min_reader.
type breakingMigration struct {
	script string
	reader int // how many of the additive migrations a program must know from then on
}

// firstReader is the min_reader of a file that no breaking migration has changed.
// Programs that know fewer migrations know nothing of min_reader, and refuse any file
// with a higher schema than theirs.
const firstReader = 5

// A schema is all the migrations that a program knows.
type schema struct {
	migrations []string
	breaking   []breakingMigration
}

// ours returns this program's schema.
func ours() schema { return schema{migrations, breaking} }

// A Version says how far a ledger file has come, or which files a program reads. The
// file carries its schema as user_version and the rest in the table meta, which every
// version has: that way a migration and what it says of itself are one transaction,
// and older programs, which only compare the schema, pay no attention to it.
type Version struct {
	Schema    int `json:"schema"`     // how many additive migrations
	MinReader int `json:"min_reader"` // how many a program must know to read the file
}

// Reads reports whether a program with that many migrations can use the file.
func (v Version) Reads(schema int) bool { return schema >= v.MinReader }

// Program returns what this program makes of a file once all its migrations have run.
func Program() Version { return ours().version() }

func (s schema) version() Version {
	v := Version{Schema: len(s.migrations), MinReader: firstReader}
	for _, b := range s.breaking {
		v.MinReader = max(v.MinReader, b.reader)
	}
	return v
}

// versionOf reads what a file says of itself.
func versionOf(c driver.Conn) (Version, error) {
	schema, err := scalar(c, "PRAGMA user_version")
	if err != nil {
		return Version{}, err
	}
	reader := int64(firstReader) // of a file that was last written by a program that knows nothing of it
	if schema > 0 {
		reader, err = scalar(c, fmt.Sprintf("SELECT coalesce(max(value), %d) FROM meta WHERE key='min_reader'", firstReader))
	}
	return Version{Schema: int(schema), MinReader: int(reader)}, err
}

// migrate brings the file to the newest schema that this program knows, in one
// transaction. A file with a newer one is left as it is, and refused only if it says
// that this program would misread it.
func (s schema) migrate(c driver.Conn) error {
	id, err := scalar(c, "PRAGMA application_id")
	if err != nil {
		return err
	}
	tables, err := scalar(c, "SELECT count(*) FROM sqlite_schema")
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
	known := len(s.migrations)
	switch {
	case !file.Reads(known):
		return fmt.Errorf("it has schema %d, which only a bareclaw that knows schema %d or a later one reads, and this one knows %d; "+
			"use the newer bareclaw that wrote it", file.Schema, file.MinReader, known)
	case file.Schema >= known:
		return nil
	}
	return transaction(c, strings.Join(s.migrations[file.Schema:], "")+
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, known))
}

// unsettled returns the breaking migrations that the file has not had.
func (s schema) unsettled(c driver.Conn) ([]breakingMigration, error) {
	done, err := scalar(c, "SELECT coalesce(max(value), 0) FROM meta WHERE key='settled'")
	if err != nil || int(done) >= len(s.breaking) {
		return nil, err
	}
	return s.breaking[done:], nil
}

// settle runs the breaking migrations that the file has not had, in the transaction
// that is open.
func (s schema) settle(c driver.Conn) error {
	todo, err := s.unsettled(c)
	if err != nil || len(todo) == 0 {
		return err
	}
	for _, b := range todo {
		if err := execute(c, b.script); err != nil {
			return err
		}
	}
	return execute(c, fmt.Sprintf(`INSERT INTO meta(key, value) VALUES('settled', %d), ('min_reader', %d)
		ON CONFLICT(key) DO UPDATE SET value=max(value, excluded.value)`, len(s.breaking), s.version().MinReader))
}

// transaction runs a script as a whole or not at all.
func transaction(c driver.Conn, script string) error {
	err := execute(c, "BEGIN IMMEDIATE;"+script+"COMMIT")
	if err != nil {
		_ = execute(c, "ROLLBACK") // there may be none to roll back
	}
	return err
}

// execute runs a script whose rows do not matter.
func execute(c driver.Conn, script string) error {
	_, err := c.(driver.ExecerContext).ExecContext(context.Background(), script, nil)
	return err
}

// scalar returns the integer that a query yields.
func scalar(c driver.Conn, query string) (int64, error) {
	rows, err := c.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	n, _ := row[0].(int64)
	return n, nil
}
