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
