// Package ledger is the durable record in one SQLite file: messages and what
// became of them, turns, approvals, background results.
//
// What it guarantees: when the callback of a Write gets no error, the change is
// on the disk, whole, after all changes written before it, and survives kill -9
// and power loss (WAL, synchronous=FULL: one sync for each group of
// changes). When it gets an error, nothing of the change is recorded. (Should a
// sync fail, and then also the attempt to overwrite what was to be synced, and
// then the process die before its next write, SQLite may find the change after
// all.)
//
// One goroutine writes. Changes that arrive while it is busy are committed
// together, so that throughput grows with the number of those who wait, and a
// lone change waits for little more than its own sync. Reads run beside it on
// connections of their own and see everything that was written before.
//
// After a failure of the disk nothing has to be reopened from outside: every
// write tries again, and after errors that may have killed the file handles the
// writer opens the file anew.
package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"

	"bareclaw/core"
)

// A Ledger is an open ledger file. It implements [core.Ledger]; all methods are
// safe for concurrent use. There must be one writing process at a time: a second
// one is kept out by the lock of the state directory, and is only delayed here.
type Ledger struct {
	queue   *queue
	writer  *writer
	readers *sql.DB
	stats   stats

	closing sync.Once
	closed  error
}

var _ core.Ledger = (*Ledger)(nil)

// Open opens the ledger, creating the file (0600) and its directory (0700) if
// there are none, and brings an older schema up to date, except for what older
// programs could not read then (see Settle). A newer schema is left as it is. The
// error names the file and says what to do. The caller closes the ledger.
//
// The file is not searched for damage: that takes time in proportion to its size
// (a second for 350 MB in the page cache), and the log makes an unclean end harmless.
// Damage is reported when it is met.
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

// Close writes what was queued before, then closes the file. Changes written
// later are answered with [core.ErrClosed]. It must not be called from a done
// callback.
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

// Write queues a change; see [core.Ledger]. The records are read before it
// returns and may be changed by the caller afterwards. Besides the errors named
// there, done gets a plain error for a change that contradicts the record, such
// as a turn that was begun before, or one whose members do not all wait; nothing
// of it is recorded and other changes are not affected.
func (l *Ledger) Write(c core.Change, done func(error)) {
	ops, bytes, err := compile(&c)
	l.enqueue(entry{ops: ops, bytes: bytes, err: err, lazy: c.Lazy, done: done})
}

func (l *Ledger) enqueue(e entry) {
	if !l.queue.add(e) {
		go e.done(core.ErrClosed) // not on the caller's stack: it may hold locks; ends with the callback
	}
}

// NextGeneration raises the ledger's generation and returns it once it is
// durable. The first one is 1.
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

// Probe returns nil once something was written that means nothing, else why it
// could not be. It blocks as long as a write may take.
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

// Settle runs the migrations after which older programs can no longer read the file,
// and returns once they are durable. It is called when this program is known to stay:
// while an upgrade is on trial the file must remain one that the old program reads.
// It blocks as long as that takes, and may be called again.
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

// Stats counts what the writer has done since the ledger was opened.
type Stats struct {
	Commits     uint64 // transactions, each with one sync
	Changes     uint64 // changes in them
	Checkpoints uint64 // times the log was copied into the file
}

// Problem returns why the last write failed, nil if it did not. It does not block.
func (l *Ledger) Problem() error {
	if err := l.stats.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// Progress counts the transactions and checkpoints that the writer has brought to an end,
// also those that failed. It does not block.
func (l *Ledger) Progress() uint64 { return l.stats.steps.Load() }

// Stats returns the writer's counters.
func (l *Ledger) Stats() Stats {
	return Stats{
		Commits: l.stats.commits.Load(), Changes: l.stats.changes.Load(), Checkpoints: l.stats.checkpoints.Load(),
	}
}
