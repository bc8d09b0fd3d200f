package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"bareclaw/core"
)

// A statement is an SQL statement that every writeConn prepares.
type statement struct {
	id    int    // index in statements
	verb  string // begins the error of a change; the subject follows
	query string
}

// statements holds all statements. Only package initialization changes the list.
var statements []*statement

// newStatement adds a statement of changes. The verb is for errors; the subject follows.
func newStatement(verb, query string) *statement {
	s := &statement{len(statements), verb, query}
	statements = append(statements, s)
	return s
}

// The statements that are not steps of a change.
var (
	stmtRaise = newStatement("", `INSERT INTO meta(key, value) VALUES('generation', 1)
		ON CONFLICT(key) DO UPDATE SET value=value+1 RETURNING value`)
	stmtProbe    = newStatement("", `INSERT INTO meta(key, value) VALUES('probe', 0) ON CONFLICT(key) DO UPDATE SET value=1-value`)
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
	if err = migrate(conn, migrations); err == nil {
		err = c.prepare()
	}
	if err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

// prepare prepares every statement.
func (c *writeConn) prepare() error {
	for _, s := range statements {
		stmt, err := c.conn.PrepareContext(context.Background(), s.query) //nolint:sqlclosecheck // close does
		if err != nil {
			return fmt.Errorf("its tables are not as expected: %w", err)
		}
		c.stmts = append(c.stmts, stmt)
	}
	return nil
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

// row runs a query of one row.
func (c *writeConn) row(s *statement, args ...any) *sql.Row { return c.stmts[s.id].QueryRow(args...) }

// apply runs an op and reports whether the op changed a row. apply adds the effect on
// the account to n.
func (c *writeConn) apply(o *op, n *counters) (wrote bool, err error) {
	if o.run != nil {
		return true, o.run(c)
	}
	rows, err := c.exec(o.stmt, o.args...)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, err)
	}
	if rows == 0 {
		return false, c.unchanged(o)
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

// unchanged returns the error for an op that changed no row, nil if the op is
// idempotent.
func (c *writeConn) unchanged(o *op) error {
	switch o.stmt {
	case stmtAccept:
		return c.duplicate(o.id)
	case stmtRun, stmtAmend, stmtRank:
		return fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, core.ErrNotWaiting)
	case stmtSettle, stmtRequeue: // the message keeps its outcome, or waits already
		return c.exists(stmtHasMessage, o)
	case stmtEnd, stmtUpdate:
		return c.exists(stmtHasTurn, o)
	case stmtArrive:
		return fmt.Errorf("%s %s: it is recorded already, or its turn", o.stmt.verb, o.id)
	default:
		return nil
	}
}

func (c *writeConn) exists(query *statement, o *op) error {
	var one int
	err := c.row(query, o.id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, core.ErrNotFound)
	}
	return err
}
