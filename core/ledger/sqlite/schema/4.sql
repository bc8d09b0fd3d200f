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
