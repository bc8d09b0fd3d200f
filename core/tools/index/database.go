package index

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"modernc.org/sqlite"
)

// schema makes the only table. It has no content: a row is an id, and the words by which it is found. The
// weights are those of the columns.
var schema = []string{
	`PRAGMA journal_mode=OFF`, // after an error the database is given up
	`PRAGMA trusted_schema=0`,
	`CREATE VIRTUAL TABLE tools USING fts5(name, description, parameters, server,
		content='', contentless_delete=1, tokenize='porter unicode61')`,
	`INSERT INTO tools(tools, rank) VALUES('hashsize', 262144)`, // bytes; more is faster, and takes memory that is not given back
	`INSERT INTO tools(tools, rank) VALUES('rank', 'bm25(4.0, 2.0, 1.0, 1.5)')`,
}

// A database is one connection to a database in memory. Its methods must not run at the same time. It is
// used without the pool of database/sql, which would need a goroutine.
type database struct {
	conn     driver.Conn
	inserts  statement
	deletes  statement
	matches  statement // all rows that an expression matches
	searches statement // likewise, with their scores
}

// openDatabase returns a database without rows. The caller closes it.
func openDatabase() (*database, error) {
	conn, err := (&sqlite.Driver{}).Open(":memory:")
	if err != nil {
		return nil, err
	}
	db := &database{conn: conn}
	if err := db.prepare(); err != nil {
		db.close()
		return nil, err
	}
	return db, nil
}

func (db *database) prepare() error {
	for _, query := range schema {
		if err := db.exec(query); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		to    *statement
		query string
	}{
		{&db.inserts, `INSERT INTO tools(rowid, name, description, parameters, server) VALUES(?, ?, ?, ?, ?)`},
		{&db.deletes, `DELETE FROM tools WHERE rowid=?`},
		{&db.matches, `SELECT rowid FROM tools WHERE tools MATCH ?`},
		{&db.searches, `SELECT rowid, -rank FROM tools WHERE tools MATCH ?`},
	} {
		prepared, err := db.conn.Prepare(s.query)
		if err != nil {
			return err
		}
		s.to.Stmt = prepared
	}
	return nil
}

// close frees the memory.
func (db *database) close() {
	for _, s := range []statement{db.inserts, db.deletes, db.matches, db.searches} {
		if s.Stmt != nil {
			_ = s.Close()
		}
	}
	_ = db.conn.Close()
}

// change runs a function that changes rows as one transaction. After an error the database must be closed.
func (db *database) change(do func() error) error {
	if err := db.exec(`BEGIN`); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return db.exec(`COMMIT`)
}

// merge makes one list of words of those that changes have left, in which searches are faster.
func (db *database) merge() error { return db.exec(`INSERT INTO tools(tools) VALUES('optimize')`) }

// add adds a row.
func (db *database) add(id int64, t text) error {
	return db.inserts.exec(id, t.name, t.description, t.parameters, t.server)
}

// remove removes a row.
func (db *database) remove(id int64) error { return db.deletes.exec(id) }

// has reports whether an expression of FTS5 matches a row that counts.
func (db *database) has(match string, counts func(id int64) bool) (has bool, err error) {
	err = db.matches.each(match, func(row []driver.Value) bool {
		id, isID := row[0].(int64)
		has = isID && counts(id)
		return !has
	})
	return has, err
}

// search calls found for each row that an expression of FTS5 matches, in no order.
func (db *database) search(match string, found func(id int64, score float64)) error {
	return db.searches.each(match, func(row []driver.Value) bool {
		id, isID := row[0].(int64)
		score, isScore := row[1].(float64)
		if isID && isScore {
			found(id, score)
		}
		return true
	})
}

// exec runs a statement without arguments.
func (db *database) exec(query string) error {
	prepared, err := db.conn.Prepare(query)
	if err != nil {
		return err
	}
	err = statement{prepared}.exec()
	return errors.Join(err, prepared.Close())
}

// A statement is a prepared statement. Nothing interrupts it: it takes milliseconds.
type statement struct{ driver.Stmt }

func (s statement) exec(args ...driver.Value) error {
	runner, ok := s.Stmt.(driver.StmtExecContext)
	if !ok {
		return errors.ErrUnsupported
	}
	_, err := runner.ExecContext(context.Background(), numbered(args))
	return err
}

// each calls do for each row of the result, until do returns false. The row is that of the call alone.
func (s statement) each(arg string, do func(row []driver.Value) bool) error {
	runner, ok := s.Stmt.(driver.StmtQueryContext)
	if !ok {
		return errors.ErrUnsupported
	}
	rows, err := runner.QueryContext(context.Background(), numbered([]driver.Value{arg}))
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for err = rows.Next(row); err == nil && do(row); {
		err = rows.Next(row)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// numbered returns arguments in their order.
func numbered(args []driver.Value) []driver.NamedValue {
	list := make([]driver.NamedValue, len(args))
	for i, value := range args {
		list[i] = driver.NamedValue{
			Ordinal: i + 1,
			Value:   value,
		}
	}
	return list
}
