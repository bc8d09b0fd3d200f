CREATE TABLE spending (
	day TEXT PRIMARY KEY,                          -- 2006-01-02, in the machine's time zone
	usd REAL NOT NULL
) STRICT, WITHOUT ROWID;
