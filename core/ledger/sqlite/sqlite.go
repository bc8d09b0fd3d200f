// Package sqlite keeps the durable record in one SQLite file: messages and their
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
//
// Each table, or group of tables, has a file: statements, what compiles the records of a
// change into statements, and a type that reads the rows, or also writes them for a room whose
// records need not land together with messages. [Ledger] embeds these types.
package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// A Ledger is an open ledger file and implements [core.Ledger] and the store of package
// schedule, each part by a type of its own. All methods are safe for concurrent use. Only
// one process may write at a time. The lock of the state directory enforces the rule,
// because SQLite would only delay a second writer.
type Ledger struct {
	messages
	turns
	approvals
	channels
	adapters
	totals
	schedules

	queue  *queue
	reader *reader
	writer *writer

	closing sync.Once
	closed  error
}

var _ core.Ledger = (*Ledger)(nil)

// Open opens the ledger and creates the file (0600) and its directory (0700) if absent.
// Open migrates an older schema, and leaves a newer schema unchanged. Errors name the file
// and the remedy. The caller closes the ledger.
//
// Open does not check the file for damage: a check takes time in proportion to the
// file's size (a second for 350 MB in the page cache), and the log makes an unclean end
// harmless. The reads and writes that meet damage report the damage.
func Open(path string, log *slog.Logger) (*Ledger, error) { return openWith(path, log, migrations) }

func openWith(path string, log *slog.Logger, migrations []string) (*Ledger, error) {
	path, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	conn, err := openWriteConn(path, migrations)
	switch {
	case isDamaged(err):
		return nil, fmt.Errorf("open ledger: %w", damaged(path, err))
	case isStorage(err):
		return nil, fmt.Errorf("open ledger %s: %w", path, storageError(path, err))
	case err != nil:
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	q := &queue{wake: wait.NewSignal()}
	r, err := openReader(path, q)
	if err != nil {
		_ = conn.close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	w := &writer{
		path:       path,
		log:        log,
		migrations: migrations,
		queue:      q,
		conn:       conn,
		reopened:   r.refresh,
		stopped:    make(chan struct{}),
	}
	if err := w.countArrivals(); err != nil {
		_ = r.db.Close()
		_ = conn.close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	go w.run() // ends in Close
	return &Ledger{
		messages:  messages{r},
		turns:     turns{r},
		approvals: approvals{r},
		channels:  channels{r},
		adapters:  adapters{r},
		totals:    totals{r},
		schedules: schedules{r, q},
		queue:     q,
		reader:    r,
		writer:    w,
	}, nil
}

// Close writes the queued changes, then closes the file. Later writes fail with
// [core.ErrClosed]. A done callback must not call Close: Close waits for the writer,
// which runs the callbacks.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		l.queue.close()
		<-l.writer.stopped
		l.closed = l.reader.db.Close()
		if err := l.writer.conn.close(); err != nil { // SQLite copies the log into the file before
			l.closed = fmt.Errorf("close ledger %s: %w", filepath.Base(l.writer.path), err)
		}
	})
	return l.closed
}

// Write queues a change; see [core.Writer]. Write has copied the records when it
// returns, and the caller may change them afterwards. Besides the errors documented for
// [core.Writer], done receives a plain error for a change that contradicts the record,
// for instance a turn that has begun already or whose members do not all wait. Nothing
// of a contradictory change is recorded, and other changes are not affected.
func (l *Ledger) Write(c core.Change, done func(error)) {
	l.queue.put(entry{compiler: compile(&c), lazy: c.Lazy, done: done})
}

// NextGeneration increments the ledger's generation and returns the new value once
// durable. The first value is 1. Calls must not overlap.
func (l *Ledger) NextGeneration(ctx context.Context) (int64, error) {
	if err := l.queue.run(ctx, stmtRaise); err != nil {
		return 0, err
	}
	return readOne(ctx, l.reader, "the generation", column[int64], `SELECT value FROM meta WHERE key='generation'`)
}

// Probe writes a meaningless value and returns nil once durable, otherwise the reason
// for the failure. Probe blocks as long as a write may take.
func (l *Ledger) Probe(ctx context.Context) error {
	return l.queue.run(ctx, stmtProbe)
}

// Problem returns the error of the last write, nil after a success. Problem does not
// block.
func (l *Ledger) Problem() error {
	if err := l.writer.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// Progress counts the transactions and checkpoints that have ended, failed ones
// included. Progress does not block.
func (l *Ledger) Progress() uint64 { return l.writer.steps.Load() }
