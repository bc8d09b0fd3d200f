package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"bareclaw/core"
	"bareclaw/internal/atomicfile"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A statement is an SQL statement that every writeConn prepares.
type statement struct {
	id    int    // index in statements
	verb  string // begins the error of a change; the subject follows
	query string
	// unchanged returns the error of an op that has changed no row, nil if that is as good.
	unchanged func(*writeConn, *op) error
}

// statements holds all statements. Only package initialization changes the list.
var statements []*statement

// newStatement adds a statement of changes, which may change no row. The verb is for errors; the
// subject follows.
func newStatement(verb, query string) *statement {
	s := &statement{
		id:        len(statements),
		verb:      verb,
		query:     query,
		unchanged: func(*writeConn, *op) error { return nil },
	}
	statements = append(statements, s)
	return s
}

// orElse has unchanged decide about an op that has changed no row.
func (s *statement) orElse(unchanged func(*writeConn, *op) error) *statement {
	s.unchanged = unchanged
	return s
}

// The statements that are not steps of a [core.Change].
var (
	stmtRaise = newStatement("raise the generation", `INSERT INTO meta(key, value) VALUES('generation', 1)
		ON CONFLICT(key) DO UPDATE SET value=value+1`)
	stmtProbe    = newStatement("store a probe", `INSERT INTO meta(key, value) VALUES('probe', 0) ON CONFLICT(key) DO UPDATE SET value=1-value`)
	stmtBegin    = newStatement("", `BEGIN IMMEDIATE`)
	stmtCommit   = newStatement("", `COMMIT`)
	stmtRollback = newStatement("", `ROLLBACK`)
	stmtScrub    = newStatement("", `INSERT INTO meta(key, value) VALUES('failed_commits', 1)
		ON CONFLICT(key) DO UPDATE SET value=value+1`)
	stmtCheckpoint = newStatement("", `PRAGMA wal_checkpoint(PASSIVE)`)
)

// A writeConn is the writer's connection with the prepared statements. A writeConn belongs
// to one goroutine.
type writeConn struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts []*sql.Stmt // by the ids of statements
}

// connect opens a database and its only connection. The caller closes both.
func connect(dsn string) (*sql.DB, *sql.Conn, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		_ = db.Close()
	}
	return db, conn, err
}

// openWriteConn opens an existing file for writing, after the missing migrations.
func openWriteConn(path string, migrations []string) (*writeConn, error) {
	db, conn, err := connect(writerDSN(path))
	if err != nil {
		return nil, err
	}
	c := &writeConn{db: db, conn: conn}
	err = migrate(conn, migrations)
	for i := 0; i < len(statements) && err == nil; i++ {
		var stmt *sql.Stmt
		if stmt, err = conn.PrepareContext(context.Background(), statements[i].query); err != nil { //nolint:sqlclosecheck // close does
			err = fmt.Errorf("its tables are not as expected: %w", err)
			break
		}
		c.stmts = append(c.stmts, stmt)
	}
	if err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

func (c *writeConn) close() error {
	for _, stmt := range c.stmts {
		_ = stmt.Close() // Close repeats the error of the last run
	}
	_ = c.conn.Close() // gives the connection back
	return c.db.Close()
}

// exec runs a statement and returns the number of changed rows.
func (c *writeConn) exec(s *statement, args ...any) (int64, error) {
	r, err := c.stmts[s.id].Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c *writeConn) row(s *statement, args ...any) *sql.Row { return c.stmts[s.id].QueryRow(args...) }

// apply runs an op and reports whether the op changed a row. apply adds the effect on
// the account to n.
func (c *writeConn) apply(o *op, n *counters) (wrote bool, err error) {
	rows, err := c.exec(o.stmt, o.args...)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, err)
	}
	if rows == 0 {
		return false, o.stmt.unchanged(c, o)
	}
	switch o.stmt {
	case stmtAccept:
		n[0]++
	case stmtSettle:
		n[o.args[0].(int64)-codeRunning]++
	}
	if o.paid != nil {
		_, err = c.exec(stmtSpend, o.paid...)
	}
	return true, err
}

// exists returns ErrNotFound for an op whose subject the query does not find.
func (c *writeConn) exists(query *statement, o *op) error {
	var one int
	err := c.row(query, o.id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, core.ErrNotFound)
	}
	return err
}

// create ensures that the file and the file's directory exist with private permissions
// and returns the absolute path. SQLite gives the -wal and -shm files the permissions of
// the main file: https://www.sqlite.org/src/file/src/os_unix.c (findCreateFileMode).
func create(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return path, restrict(path)
	}
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return path, atomicfile.SyncDir(dir)
}

// restrict removes all permissions of other users from an existing file. restrict does
// not open the file: closing a descriptor would drop SQLite's POSIX locks of the
// process.
func restrict(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, 0o600)
}

// writerDSN returns the data source name for writing to an existing file. Mode rw never
// creates a file, so an empty file cannot replace a ledger that has vanished, for
// instance with its file system.
//
// The writer checkpoints when no caller waits, hence wal_autocheckpoint(0). The log
// keeps its size across restarts, up to journal_size_limit, because a sync that leaves
// the size unchanged is cheaper. On macOS only F_FULLFSYNC makes a sync durable;
// fullfsync has no effect on other systems.
func writerDSN(path string) string {
	return dsn(path, "rw",
		"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "wal_autocheckpoint(0)", "journal_size_limit(16777216)",
		"busy_timeout(5000)", "cache_size(-2048)", "temp_store(MEMORY)", "mmap_size(0)", "trusted_schema(0)")
}

func readerDSN(path string) string {
	return dsn(path, "ro", "query_only(1)", "busy_timeout(5000)", "cache_size(-512)", "temp_store(MEMORY)", "mmap_size(0)",
		"trusted_schema(0)")
}

func dsn(path, mode string, pragmas ...string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	q := url.Values{"mode": {mode}, "_pragma": pragmas, "_dqs": {"0"}}
	return u.String() + "?" + q.Encode()
}

// sqliteCode returns the primary result code in err, 0 if err holds none:
// https://www.sqlite.org/rescode.html
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// isStorage reports whether the disk or the file caused err, rather than the change.
func isStorage(err error) bool {
	switch sqliteCode(err) {
	case 0, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_ERROR:
		return false
	default:
		return true
	}
}

func isFull(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_FULL }

func isDamaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// storageError wraps the error of a write with core.ErrStorageFull or core.ErrStorage.
func storageError(path string, err error) error {
	switch {
	case isFull(err), sqliteCode(err) == sqlite3.SQLITE_IOERR && diskFull(filepath.Dir(path)):
		return fmt.Errorf("%w: %w", core.ErrStorageFull, err)
	case isDamaged(err):
		return fmt.Errorf("%w: %w", core.ErrStorage, damaged(path, err))
	default:
		return fmt.Errorf("%w: %w", core.ErrStorage, err)
	}
}

// damaged adds the remedies for a damaged file, for the operator.
func damaged(path string, err error) error {
	return fmt.Errorf("%s is damaged or no SQLite database: stop bareclaw, then move it away together with its -wal and -shm files "+
		"(bareclaw starts with an empty ledger), or save what can be read: sqlite3 %s .recover | sqlite3 new.db: %w",
		path, filepath.Base(path), err)
}

// diskFull reports whether the file system has no room for another page. On a full disk
// some file systems return EIO, or fail in a sync or in the shared-memory file.
func diskFull(dir string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return false
	}
	return s.Bavail*uint64(s.Bsize) < 64<<10
}
