package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bareclaw/core"
)

const (
	maxReaders     = 4
	readerIdleTime = time.Minute
)

// A reader runs queries on read-only connections. Each query sees all earlier writes.
type reader struct {
	queue *queue
	db    *sql.DB
}

// openReader returns a reader of an existing file. The reader opens connections on demand
// and closes idle ones after readerIdleTime, because each connection costs memory.
func openReader(path string, q *queue) (*reader, error) {
	db, err := sql.Open("sqlite", readerDSN(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(readerIdleTime)
	return &reader{q, db}, nil
}

// refresh closes the idle connections, so that the next reads open the file again.
func (r *reader) refresh() {
	r.db.SetMaxIdleConns(0)
	r.db.SetMaxIdleConns(1)
}

// settled blocks until all earlier writes can be read. The writer's goroutine must not
// call settled.
func (r *reader) settled(ctx context.Context) error {
	switch idle, closed := r.queue.state(); {
	case closed:
		return core.ErrClosed
	case idle:
		return nil
	}
	err := r.queue.commit(ctx, &compiler{})
	if r.queue.unposted.Load() || ctx.Err() != nil || errors.Is(err, core.ErrClosed) {
		return err
	}
	return nil // another change of the barrier's group may have failed: all successful earlier writes can be read
}

// A scanFunc copies the columns of a row to the destinations, as [sql.Rows.Scan].
type scanFunc = func(...any) error

// readAll runs a query and scans each row; what is the subject for errors.
func readAll[T any](ctx context.Context, r *reader, what string, scan func(scanFunc) (T, error), query string, args ...any) ([]T, error) {
	if err := r.settled(ctx); err != nil {
		return nil, err
	}
	all, err := list(ctx, r.db, scan, query, args...)
	return all, r.failed(what, err)
}

// readOne is readAll for one row; the error is core.ErrNotFound for an empty result.
func readOne[T any](ctx context.Context, r *reader, what string, scan func(scanFunc) (T, error), query string, args ...any) (v T, err error) {
	all, err := readAll(ctx, r, what, scan, query, args...)
	if err == nil && len(all) == 0 {
		err = r.failed(what, core.ErrNotFound)
	}
	if err != nil {
		return v, err
	}
	return all[0], nil
}

// failed wraps the error of a read with the subject, and with [core.ErrClosed] if the
// ledger was closed meanwhile.
func (r *reader) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, closed := r.queue.state(); closed && !errors.Is(err, core.ErrNotFound) {
		err = fmt.Errorf("%w: %w", core.ErrClosed, err)
	}
	return fmt.Errorf("ledger: read %s: %w", what, err)
}

// A querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func list[T any](ctx context.Context, q querier, scan func(scanFunc) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports more
	var all []T
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func column[T any](scan scanFunc) (v T, err error) {
	err = scan(&v)
	return v, err
}

// A storedTime is the destination of a time stored by nanos.
type storedTime time.Time

// at returns the destination of a time.
func at(t *time.Time) *storedTime { return (*storedTime)(t) }

// Scan implements [sql.Scanner].
func (t *storedTime) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%T is not a time", v)
	}
	*t = storedTime(fromNanos(n))
	return nil
}

// A storedDoc is the destination of a JSON document; NULL changes nothing.
type storedDoc struct{ into any }

// Scan implements [sql.Scanner].
func (d storedDoc) Scan(v any) error {
	switch text := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), d.into)
	default:
		return fmt.Errorf("%T is not a document", v)
	}
}

// bytesOf returns the destination of a JSON value kept as given.
func bytesOf(raw *json.RawMessage) *[]byte { return (*[]byte)(raw) }
