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
