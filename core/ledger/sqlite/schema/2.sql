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
