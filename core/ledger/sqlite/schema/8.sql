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
	rank          INTEGER NOT NULL DEFAULT 0,      -- messages that wait are ordered by rank, then by acceptance
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
	text       ANY,
	woken_by   TEXT NOT NULL DEFAULT ''            -- what began the agent's own turn, for a person; '': unknown
) STRICT;
CREATE INDEX backgrounds_channel ON backgrounds(channel);

-- New messages with their turns that wait to be posted: see change.go.
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

-- What adapters have to bring to remote places: see adapters.go.
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

CREATE TABLE settings (
	channel         TEXT PRIMARY KEY,
	model           TEXT,                          -- NULL: never set; '': taken back
	permission_mode TEXT,                          -- likewise
	tools           TEXT NOT NULL DEFAULT ''       -- the gateway's tools that sessions of the channel may use; '': those of the gateway
) STRICT, WITHOUT ROWID;

CREATE TABLE rules (
	seq     INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	channel TEXT NOT NULL,
	rule    TEXT NOT NULL,
	doc     TEXT NOT NULL,
	UNIQUE (channel, rule)
) STRICT;

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

CREATE TABLE spending (
	day TEXT PRIMARY KEY,                          -- 2006-01-02, in the machine's time zone
	usd REAL NOT NULL
) STRICT, WITHOUT ROWID;
