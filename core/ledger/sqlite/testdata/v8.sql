-- A ledger of schema 8, of which parts were written with earlier schemas, as the program of that
-- time had it when it was killed.
PRAGMA application_id=0x62617265;
PRAGMA user_version=8;
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
, rank INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO messages VALUES(1,'m-answered','http','tg:1:2',1772366401000000000,2,'t-answered',1772366400000000000,1772366401000000000,'{"adapter":"http","origin":{"user":"Ann"},"source_hash":"hash"}','what is an answer?','{"duration_ns":1000000000,"cost_usd":0.25,"session_id":"session of http"}','the answer to m-answered',0);
INSERT INTO messages VALUES(2,'m-failed','http',NULL,1772366402000000000,3,'t-failed',1772366400000000000,1772366460000000000,'{"adapter":"http","origin":{"user":"Ann"}}','fail','{"is_error":true,"code":"interrupted","error":"cut","notices":[{"code":"fresh","text":"anew"}]}','',0);
INSERT INTO messages VALUES(3,'m-cancelled','http',NULL,1772366403000000000,4,NULL,0,1772366460000000000,'{"adapter":"http","origin":{"user":"Ann"}}','never mind','{}','',0);
INSERT INTO messages VALUES(4,'m-big','tg-1',NULL,1772366404000000000,0,NULL,0,0,'{"adapter":"http","origin":{"user":"Ann"}}',NULL,NULL,NULL,0);
INSERT INTO messages VALUES(5,'m-blocks','tg-1',NULL,1772366405000000000,0,NULL,0,0,'{"adapter":"http","origin":{"user":"Ann"},"blocks":true}','{"blocks":[{"type":"text","text":"é"}]}',NULL,NULL,-1);
INSERT INTO messages VALUES(6,'m-running','tg-1',NULL,1772366406000000000,1,'t-running',1772366400000000000,0,'{"adapter":"http","origin":{"user":"Ann"}}','still at work',NULL,NULL,0);
INSERT INTO messages VALUES(7,'m-large','tg-1',NULL,1772366410000000000,0,NULL,0,0,'{"adapter":"telegram","origin":{"user":"Bo","chat":"-5"},"can_ask":true,"deliver":true,"prompt":{"text":"a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text","truncated":true}}',NULL,NULL,NULL,0);
INSERT INTO messages VALUES(8,'m-picture','tg-1','tg:5:6',1772366410000000000,0,NULL,0,0,'{"adapter":"telegram","origin":{"user":"Bo","chat":"-5"},"source_hash":"h","can_ask":true,"deliver":true,"blocks":true,"prompt":{"text":"what is this?","blocks":[{"type":"text","bytes":13},{"type":"image","media_type":"image/png","bytes":1800}]}}',NULL,NULL,NULL,0);
INSERT INTO messages VALUES(9,'m-asked','http',NULL,1772366410000000000,2,'t-asked',1772366400000000000,1772366460000000000,'{"adapter":"telegram","origin":{"user":"Bo","chat":"-5"},"mode":"steer","can_ask":true,"deliver":true}','do it','{"via":"telegram","duration_ns":60000000000,"cost_usd":0.125,"session_id":"second session"}','done',0);
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
INSERT INTO turns VALUES(3,'t-running','session of tg-1',1772366400000000000,0,'{"channel":"tg-1","members":["m-running"]}',replace('{"uuid":"t-running"}\n','\n',char(10)),NULL,NULL);
INSERT INTO turns VALUES(4,'t-asked','second session',1772366400000000000,1772366460000000000,'{"channel":"http","opens":true,"members":["m-asked"],"steered":true,"can_ask":true,"notices":[{"code":"fresh","text":"anew"}]}',replace('{"uuid":"t-asked"}\n','\n',char(10)),'{"result":{"turns":["t-asked"],"session_id":"second session","total_cost":2.5,"num_turns":3},"marks":[{"at":"2026-03-01T12:00:00Z","what":"begun","detail":"d"}]}','done');
CREATE TABLE bodies (
	kind  INTEGER NOT NULL,                        -- 0 message content 1 turn line
	owner TEXT NOT NULL,
	data  ANY,
	PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID;
INSERT INTO bodies VALUES(0,'m-big','0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef');
INSERT INTO bodies VALUES(0,'m-large','a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text a large text ');
INSERT INTO bodies VALUES(0,'m-picture','{"text":"","blocks":[{"type":"text","text":"what is this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}]}');
CREATE TABLE sessions (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	ours       INTEGER NOT NULL,
	completed  INTEGER NOT NULL,
	total_cost REAL NOT NULL
) STRICT;
INSERT INTO sessions VALUES(1,'session of http',1,1,1.5);
INSERT INTO sessions VALUES(2,'second session',1,1,2.5);
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
INSERT INTO approvals VALUES(3,'p-3','t-asked','pending',1772366400000000000,0,0,'{"kind":"continue","channel":"http","message":"m-asked","prompt":{"text":"do it"}}',NULL,NULL);
CREATE TABLE backgrounds (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	channel    TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	is_error   INTEGER NOT NULL,
	text       ANY
, woken_by TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO backgrounds VALUES(1,'b-1','http',1772366400000000000,0,'the build is done','');
INSERT INTO backgrounds VALUES(2,'b-2','http',1772366400000000000,0,'it is built','task build');
CREATE TABLE counters (
	accepted  INTEGER NOT NULL,
	answered  INTEGER NOT NULL,
	failed    INTEGER NOT NULL,
	cancelled INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES(9,2,1,1);
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
INSERT INTO arrivals VALUES('m-arrived',0,'http',1772366410000000000,'{"adapter":"telegram","origin":{"user":"Bo","chat":"-5"},"can_ask":true,"deliver":true}','just now',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE spending (
	day TEXT PRIMARY KEY,                          -- 2006-01-02, in the machine's time zone
	usd REAL NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO spending VALUES('2026-03-01',0.875);
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
INSERT INTO deliveries VALUES(1,'d-1','telegram','tg-1','m-answered','sent',1772366400000000000,1772366460000000000,'{"kind":"reply"}',NULL,'[7]');
INSERT INTO deliveries VALUES(2,'d-2','telegram','tg-1',NULL,'pending',1772366400000000000,0,'{"kind":"reply"}','{"text":"hi"}',NULL);
INSERT INTO deliveries VALUES(3,'d-3','telegram','http','m-asked','pending',1772366460000000000,0,'{"kind":"reply"}',NULL,NULL);
CREATE TABLE inbox (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	adapter     TEXT NOT NULL,
	received_at INTEGER NOT NULL,
	handled     INTEGER NOT NULL,
	body        ANY
) STRICT;
INSERT INTO inbox VALUES(1,'u-1','telegram',1772366400000000000,1,NULL);
INSERT INTO inbox VALUES(2,'u-2','telegram',1772366400000000000,0,'{"update_id":2}');
CREATE TABLE records (
	owner TEXT NOT NULL,
	key   TEXT NOT NULL,
	at    INTEGER NOT NULL,
	doc   ANY NOT NULL,
	PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
INSERT INTO records VALUES('telegram','offset',1772366400000000000,'{"offset":3}');
CREATE TABLE settings (
	channel         TEXT PRIMARY KEY,
	model           TEXT,                          -- NULL: never set; '': taken back
	permission_mode TEXT                           -- likewise
, tools TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES('http',NULL,'plan','');
INSERT INTO settings VALUES('tg-1','haiku','','push_send');
CREATE TABLE rules (
	seq     INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	channel TEXT NOT NULL,
	rule    TEXT NOT NULL,
	doc     TEXT NOT NULL,
	UNIQUE (channel, rule)
) STRICT;
INSERT INTO rules VALUES(1,'rule-1','tg-1','Bash(git log *)','{"tool":"Bash","created_at":1772366400000000000,"by":"Ann"}');
CREATE TABLE moves (
	channel  TEXT PRIMARY KEY,
	target   TEXT NOT NULL,
	session  TEXT NOT NULL,                        -- of the channel, when it was moved
	keeps    INTEGER NOT NULL,                     -- the target keeps its own
	moved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO moves VALUES('tg-0','tg-1','s',0,1772366400000000000);
CREATE TABLE schedules (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	channel    TEXT NOT NULL,
	decided_to INTEGER NOT NULL,                   -- until then, occurrences have outcomes
	done_at    INTEGER NOT NULL,
	doc        TEXT NOT NULL
) STRICT;
INSERT INTO schedules VALUES(1,'job-1','tg-1',1772377200000000000,0,'{"text":"look","when":"cron 0 9 * * *","tz":"Europe/Berlin","missed":"within 30m","precheck":"true","budget":0.5,"source_key":"http:k","source_hash":"h","created_at":1772366400000000000}');
CREATE TABLE occurrences (
	schedule   TEXT NOT NULL,
	due        INTEGER NOT NULL,
	decided_at INTEGER NOT NULL,
	outcome    TEXT NOT NULL,
	message    TEXT,
	doc        TEXT NOT NULL,
	PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;
INSERT INTO occurrences VALUES('job-1',1772370000000000000,1772370000000000000,'sent','m-answered','{}');
INSERT INTO occurrences VALUES('job-1',1772373600000000000,1772377200000000000,'missed',NULL,'{"late":true,"why":"off"}');
INSERT INTO occurrences VALUES('job-1',1772377200000000000,1772377200000000000,'sent','m-asked','{}');
CREATE UNIQUE INDEX messages_source ON messages(source_key) WHERE source_key IS NOT NULL;
CREATE INDEX messages_channel ON messages(channel);
CREATE INDEX messages_open ON messages(seq) WHERE state < 2;
CREATE INDEX approvals_turn ON approvals(turn);
CREATE INDEX approvals_pending ON approvals(seq) WHERE state = 'pending';
CREATE INDEX backgrounds_channel ON backgrounds(channel);
CREATE INDEX deliveries_pending ON deliveries(seq) WHERE state = 'pending';
CREATE INDEX deliveries_message ON deliveries(message) WHERE message IS NOT NULL;
CREATE INDEX inbox_open ON inbox(seq) WHERE handled = 0;
COMMIT;
