-- A ledger of schema 2, as the program of that time had it when it was killed.
PRAGMA application_id=0x62617265;
PRAGMA user_version=2;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO messages VALUES(1,'m-answered','http','tg:1:2',1772366401000000000,2,'t-answered',1772366400000000000,1772366401000000000,'{"adapter":"http","origin":{"user":"Ann"},"source_hash":"hash"}','what is an answer?','{"duration_ns":1000000000,"cost_usd":0.25,"session_id":"session of http"}','the answer to m-answered');
INSERT INTO messages VALUES(2,'m-failed','http',NULL,1772366402000000000,3,'t-failed',1772366400000000000,1772366460000000000,'{"adapter":"http","origin":{"user":"Ann"}}','fail','{"is_error":true,"code":"interrupted","error":"cut","notices":[{"code":"fresh","text":"anew"}]}','');
INSERT INTO messages VALUES(3,'m-cancelled','http',NULL,1772366403000000000,4,NULL,0,1772366460000000000,'{"adapter":"http","origin":{"user":"Ann"}}','never mind','{}','');
INSERT INTO messages VALUES(4,'m-big','tg-1',NULL,1772366404000000000,0,NULL,0,0,'{"adapter":"http","origin":{"user":"Ann"}}',NULL,NULL,NULL);
INSERT INTO messages VALUES(5,'m-blocks','tg-1',NULL,1772366405000000000,0,NULL,0,0,'{"adapter":"http","origin":{"user":"Ann"},"blocks":true}','{"blocks":[{"type":"text","text":"é"}]}',NULL,NULL);
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
INSERT INTO turns VALUES(1,'t-answered','session of http',1772366400000000000,1772366401000000000,'{"channel":"http","members":["m-answered"],"opens":true}',replace('{"uuid":"t-answered"}\n','\n',char(10)),'{"result":{"turns":["t-answered"],"session_id":"session of http","total_cost":1.5,"num_turns":1},"marks":[{"at":"2026-03-01T12:00:00Z","what":"begun"},{"at":"2026-03-01T12:00:01Z","what":"ended"}]}','the answer to m-answered');
INSERT INTO turns VALUES(2,'t-failed','session of http',1772366400000000000,1772366460000000000,'{"channel":"http","members":["m-failed"]}',replace('{"uuid":"t-failed"}\n','\n',char(10)),'{"code":"interrupted"}',NULL);
CREATE TABLE bodies (
	kind  INTEGER NOT NULL,                        -- 0 message content 1 turn line
	owner TEXT NOT NULL,
	data  ANY,
	PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID;
INSERT INTO bodies VALUES(0,'m-big','0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef');
CREATE TABLE sessions (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	ours       INTEGER NOT NULL,
	completed  INTEGER NOT NULL,
	total_cost REAL NOT NULL
) STRICT;
INSERT INTO sessions VALUES(1,'session of http',1,1,1.5);
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
INSERT INTO approvals VALUES(1,'p-1','t-running','pending',1772366400000000000,1772370000000000000,0,'{"channel":"tg-1","message":"m-running","request_id":"r","tool":"Bash"}','{"command":"ls"}',NULL);
INSERT INTO approvals VALUES(2,'p-2','t-answered','denied',1772366400000000000,0,1772366400000000000,'{"channel":"http","message":"m-answered","request_id":"s","tool":"Edit","reason":"no"}','{}',NULL);
CREATE TABLE backgrounds (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	channel    TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	is_error   INTEGER NOT NULL,
	text       ANY
) STRICT;
INSERT INTO backgrounds VALUES(1,'b-1','http',1772366400000000000,0,'the build is done');
CREATE TABLE counters (
	accepted  INTEGER NOT NULL,
	answered  INTEGER NOT NULL,
	failed    INTEGER NOT NULL,
	cancelled INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES(5,1,1,1);
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('generation',3);
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
INSERT INTO arrivals VALUES('m-running',0,'tg-1',1772366406000000000,'{"adapter":"http","origin":{"user":"Ann"}}','still at work','t-running','session of tg-1',1772366400000000000,'{"channel":"tg-1","members":["m-running"]}',replace('{"uuid":"t-running"}\n','\n',char(10)));
CREATE UNIQUE INDEX messages_source ON messages(source_key) WHERE source_key IS NOT NULL;
CREATE INDEX messages_channel ON messages(channel);
CREATE INDEX messages_open ON messages(seq) WHERE state < 2;
CREATE INDEX approvals_turn ON approvals(turn);
CREATE INDEX approvals_pending ON approvals(seq) WHERE state = 'pending';
CREATE INDEX backgrounds_channel ON backgrounds(channel);
COMMIT;
