// Package ledger keeps the durable record in one SQLite file: messages and their
// outcomes, turns, approvals and background results.
//
// When the callback of a Write receives no error, the whole change is on the disk, after
// all changes written before, and survives kill -9 and power loss (WAL,
// synchronous=FULL: one sync for each group of changes). When the callback receives an
// error, nothing of the change is recorded. One exception remains: if a sync fails, then
// overwriting the unsynced pages fails too, and the process dies before the next write,
// SQLite may still find the change.
//
// One goroutine writes. Changes that arrive during a commit are committed together next,
// so throughput grows with the number of waiting callers, and a lone change waits for
// little more than its own sync. Reads run concurrently on separate connections and see
// everything written before.
//
// A disk failure does not require the caller to reopen the ledger: every write is
// attempted again, and the writer reopens the file after errors that may have
// invalidated the file handles.
package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"

	"bareclaw/core"
)

// A Ledger is an open ledger file and implements [core.Ledger]. All methods are safe for
// concurrent use. Only one process may write at a time; the lock of the state directory
// enforces the rule, and a second writer would here only be delayed.
type Ledger struct {
	queue   *queue
	writer  *writer
	readers *sql.DB
	stats   stats

	closing sync.Once
	closed  error
}

var _ core.Ledger = (*Ledger)(nil)

// Open opens the ledger and creates the file (0600) and its directory (0700) if absent.
// Open migrates an older schema, except for the breaking migrations, which older
// programs could not read afterwards (see Settle), and leaves a newer schema unchanged.
// Errors name the file and the remedy. The caller closes the ledger.
//
// Open does not check the file for damage: a check takes time in proportion to the
// file's size (a second for 350 MB in the page cache), and the log makes an unclean end
// harmless. The reads and writes that meet damage report the damage.
func Open(path string, log *slog.Logger) (*Ledger, error) { return openWith(path, log, ours()) }

func openWith(path string, log *slog.Logger, schema schema) (*Ledger, error) {
	path, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	conn, err := openWriteConn(path, schema)
	if err != nil {
		if isDamaged(err) {
			return nil, fmt.Errorf("open ledger: %w", damaged(path, err))
		}
		if isStorage(err) {
			return nil, fmt.Errorf("open ledger %s: %w", path, storageError(path, err))
		}
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	readers, err := openReaders(path)
	if err != nil {
		_ = conn.close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	l := &Ledger{queue: newQueue(), readers: readers}
	l.writer = &writer{
		path: path, log: log, schema: schema, queue: l.queue, conn: conn, stats: &l.stats, reopened: l.refresh, stopped: make(chan struct{}),
	}
	if err := l.writer.countArrivals(); err != nil {
		_ = readers.Close()
		_ = conn.close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	go l.writer.run() // ends in Close
	return l, nil
}

// Close writes the queued changes, then closes the file. Later writes fail with
// [core.ErrClosed]. A done callback must not call Close: Close waits for the writer,
// which runs the callbacks.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		l.queue.close()
		<-l.writer.stopped
		l.closed = l.readers.Close()
		if err := l.writer.shut(); err != nil {
			l.closed = err
		}
	})
	return l.closed
}

// Write queues a change; see [core.Ledger]. Write has copied the records when it
// returns, and the caller may change them afterwards. Besides the errors documented for
// [core.Ledger], done receives a plain error for a change that contradicts the record,
// for instance a turn that has begun already or whose members do not all wait. Nothing
// of a contradictory change is recorded, and other changes are not affected.
func (l *Ledger) Write(c core.Change, done func(error)) {
	ops, bytes, err := compile(&c)
	l.enqueue(entry{ops: ops, bytes: bytes, err: err, lazy: c.Lazy, done: done})
}

func (l *Ledger) enqueue(e entry) {
	if !l.queue.add(e) {
		go e.done(core.ErrClosed) // not on the caller's stack, where locks may be held; ends with the callback
	}
}

// NextGeneration increments the ledger's generation and returns the new value once
// durable. The first value is 1.
func (l *Ledger) NextGeneration(ctx context.Context) (int64, error) {
	var generation int64
	landed := make(chan error, 1)
	l.enqueue(entry{ops: []op{{stmt: opRaise, out: &generation}}, done: func(err error) { landed <- err }})
	select {
	case err := <-landed:
		return generation, err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Probe writes a meaningless value and returns nil once durable, otherwise the reason
// for the failure. Probe blocks as long as a write may take.
func (l *Ledger) Probe(ctx context.Context) error {
	landed := make(chan error, 1)
	l.enqueue(entry{ops: []op{{stmt: opProbe}}, done: func(err error) { landed <- err }})
	select {
	case err := <-landed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Settle runs the breaking migrations, after which older programs cannot read the file,
// and returns once the migrations are durable. The caller calls Settle only after a
// successful upgrade: during the trial of an upgrade the previous program must be able
// to read the file. Settle blocks for the duration of the migrations and may be called
// again.
func (l *Ledger) Settle(ctx context.Context) error {
	landed := make(chan error, 1)
	l.enqueue(entry{ops: []op{{stmt: opSettleSchema, id: "itself"}}, done: func(err error) { landed <- err }})
	select {
	case err := <-landed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats counts the writer's work since Open.
type Stats struct {
	Commits     uint64 // transactions, each with one sync
	Changes     uint64 // changes in all transactions
	Checkpoints uint64 // times the log was copied into the file
}

// Problem returns the error of the last write, nil after a success. Problem does not
// block.
func (l *Ledger) Problem() error {
	if err := l.stats.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// Progress counts the transactions and checkpoints that have ended, failed ones
// included. Progress does not block.
func (l *Ledger) Progress() uint64 { return l.stats.steps.Load() }

// Stats returns the writer's counters.
func (l *Ledger) Stats() Stats {
	return Stats{
		Commits: l.stats.commits.Load(), Changes: l.stats.changes.Load(), Checkpoints: l.stats.checkpoints.Load(),
	}
}
