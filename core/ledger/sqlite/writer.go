package sqlite

import (
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

const (
	// groupChanges and groupBytes bound a transaction: the first change of a group waits
	// for the statements of the last, and the log grows by the whole group.
	groupChanges = 512
	groupBytes   = 4 << 20

	// slowWrite is the shortest duration of a write to be logged as slow, at most once
	// in slowPause.
	slowWrite = 2 * time.Second
	slowPause = time.Minute

	// spareEntries is the capacity of the largest queue buffer kept for reuse.
	spareEntries = 4096
)

// errRedo reports that a change failed after writing a row. The writer must run the group
// again without the change. (A savepoint for each change would cost too much.)
var errRedo = errors.New("group must be run again")

// A writer is the only goroutine that writes. The writer commits all entries queued
// during the previous commit in one transaction, so that all waiting callers share the
// cost of one sync.
type writer struct {
	path       string
	log        *slog.Logger
	migrations []string
	queue      *queue
	// reopened is called after the writer has opened the file again.
	reopened func()
	stopped  chan struct{}         // closed when run has returned
	commits  atomic.Uint64         // transactions, each with one sync
	changes  atomic.Uint64         // changes in all transactions
	steps    atomic.Uint64         // see Ledger.Progress
	problem  atomic.Pointer[error] // error of the last write, nil after a success

	// The fields below belong to run.
	conn      *writeConn
	stale     bool // conn met an error that may have invalidated the file handles
	counters  counters
	applied   int     // changes in the open transaction
	arrived   int64   // arrivals to post, as seen by the open transaction
	kept      int64   // arrivals to post, as of the last commit
	outcomes  []error // one error for each change of the group
	failing   bool    // the last group could not be written
	slowSaid  time.Time
	logPages  int  // pages of the log written since the last checkpoint
	logFailed bool // the last checkpoint failed
}

// run writes until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.stopped)
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	var spare []entry
	for {
		runtime.Gosched() // other changes that are about to come share the transaction
		items, closed := w.queue.take(spare)
		if len(items) == 0 {
			spare = items
			if closed {
				w.rest()
				return
			}
			select {
			case <-w.queue.wake:
			case <-idle.C:
				w.rest()
			}
			continue
		}
		for rest := items; len(rest) > 0; {
			n := groupSize(rest)
			w.write(rest[:n])
			rest = rest[n:]
		}
		clear(items)
		if spare = items[:0]; cap(spare) > spareEntries {
			spare = nil
		}
		idle.Reset(idleTime)
	}
}

// rest does the deferred work of an idle writer: post the arrivals and checkpoint.
func (w *writer) rest() {
	if w.kept > 0 {
		w.queue.count()
		w.write([]entry{{compiler: &compiler{}, done: func(error) {}}}) // a barrier
	}
	w.checkpoint(idlePages)
}

// groupSize returns the number of leading entries to write in one transaction.
func groupSize(items []entry) int {
	bytes := 0
	for i, e := range items {
		if bytes += e.bytes; i > 0 && bytes > groupBytes || i == groupChanges {
			return i
		}
	}
	return len(items)
}

// write commits a group and calls the callbacks of all entries.
func (w *writer) write(group []entry) {
	w.outcomes = w.outcomes[:0]
	for i := range group {
		w.outcomes = append(w.outcomes, group[i].err)
	}
	began := time.Now()
	err := w.attempt(group)
	for errors.Is(err, errRedo) {
		err = w.attempt(group)
	}
	if err != nil {
		err = storageError(w.path, err)
	}
	if err != nil || w.applied > 0 { // a group of barriers alone says nothing about the disk
		w.note(err)
	}
	w.stepped(began)
	w.queue.unposted.Store(w.kept > 0)
	w.queue.landed.Add(uint64(len(group)))
	for i := range group {
		if err != nil {
			group[i].done(err)
		} else {
			group[i].done(w.outcomes[i])
		}
	}
	w.checkpoint(busyPages)
}

// attempt runs the changes without an error in w.outcomes in one transaction, and adds the
// errors of single changes to w.outcomes. After a returned error nothing of the group is
// written.
func (w *writer) attempt(group []entry) error {
	w.counters = counters{}
	w.applied = 0
	w.arrived = w.kept
	begun := false
	for i := range group {
		e := &group[i]
		if w.outcomes[i] != nil || e.isBarrier() && w.arrived == 0 {
			continue
		}
		if !begun {
			if err := w.begin(); err != nil {
				return err
			}
			begun = true
		}
		if !e.isArrival() || w.arrived >= maxArrivals {
			if err := w.post(); err != nil {
				w.rollback(err)
				return err
			}
		}
		wrote, err := w.change(e)
		w.outcomes[i] = err
		switch {
		case isStorage(err):
			w.rollback(err)
			return err
		case err != nil && wrote:
			w.rollback(err)
			return errRedo
		}
	}
	if !begun {
		return nil
	}
	return w.commit()
}

// begin opens a transaction, on a new connection if the old connection is stale.
func (w *writer) begin() error {
	if w.stale {
		conn, err := openWriteConn(w.path, w.migrations)
		if err != nil {
			return err
		}
		_ = w.conn.close() // the connection has failed already
		w.conn = conn
		w.stale = false
		w.reopened()
	}
	if _, err := w.conn.exec(stmtBegin); err != nil {
		w.rollback(err)
		return err
	}
	return nil
}

func (w *writer) commit() error {
	if n := w.counters; n != (counters{}) {
		if _, err := w.conn.exec(stmtCount, n[0], n[1], n[2], n[3]); err != nil {
			w.rollback(err)
			return err
		}
	}
	if _, err := w.conn.exec(stmtCommit); err != nil {
		w.rollback(err)
		w.scrub()
		return err
	}
	w.kept = w.arrived
	w.commits.Add(1)
	w.changes.Add(uint64(w.applied))
	return nil
}

// rollback undoes the open transaction, which SQLite may have rolled back already.
func (w *writer) rollback(cause error) {
	_, _ = w.conn.exec(stmtRollback)
	if isStorage(cause) && !isFull(cause) {
		w.stale = true
	}
}

// scrub overwrites the remains of a failed commit in the log. If only the sync failed,
// the log holds the complete group, and SQLite would find the group at the next read of
// the log, although every caller has received an error. A meaningless transaction
// replaces the group. The replacement need not be durable.
func (w *writer) scrub() {
	for _, s := range []*statement{stmtBegin, stmtScrub, stmtCommit} {
		if _, err := w.conn.exec(s); err != nil {
			_, _ = w.conn.exec(stmtRollback)
			return
		}
	}
}

// change runs the statements of one change, and reports whether one of them wrote a row.
func (w *writer) change(e *entry) (wrote bool, err error) {
	before := w.counters
	if e.isArrival() {
		e.ops[0].args[1] = w.arrived
	}
	for i := range e.ops {
		did, err := w.conn.apply(&e.ops[i], &w.counters)
		wrote = wrote || did
		if err != nil {
			w.counters = before
			return wrote, err
		}
	}
	if e.isArrival() {
		w.arrived++
	}
	w.applied++
	return wrote, nil
}

// stepped counts the end of a transaction or checkpoint. stepped logs a slow disk, at
// most once in slowPause, to explain the delay to operators.
func (w *writer) stepped(began time.Time) {
	w.steps.Add(1)
	took := time.Since(began)
	if took < slowWrite || time.Since(w.slowSaid) < slowPause {
		return
	}
	w.slowSaid = time.Now()
	w.log.Warn("the disk is slow: everything waits for the ledger", "file", w.path, "took", took)
}

// note logs the first failure of writes and the first success afterwards.
func (w *writer) note(err error) {
	if failing := err != nil; failing != w.failing {
		w.failing = failing
		w.problem.Store(nil)
		if failing {
			w.problem.Store(&err)
			w.log.Error("ledger cannot be written", "file", w.path, "error", err)
		} else {
			w.log.Info("ledger can be written again", "file", w.path)
		}
	}
}

const (
	// busyPages is the log size at which a busy writer copies the log into the file:
	// 8 MiB with pages of 4 KiB. The next write then restarts the log at the beginning.
	// In the long run the log's size therefore stays constant, which makes syncs cheap,
	// and a start after kill -9 has little to replay.
	busyPages = 2000
	// idlePages is the log size at which a writer that has been idle for idleTime
	// checkpoints.
	idlePages = 100
	idleTime  = time.Second
)

// checkpoint copies the log into the file if the log holds at least the given number of
// pages. checkpoint runs after all callbacks, and on the writer's goroutine because the
// log cannot restart during a write.
func (w *writer) checkpoint(pages int) {
	if w.stale {
		return
	}
	_ = w.conn.conn.Raw(func(c any) error {
		n, _, _ := c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		w.logPages += n
		return nil
	})
	if w.logPages < pages {
		return
	}
	w.logPages = 0 // also after a failure: the next attempt follows after as many pages
	began := time.Now()
	var busy, frames, copied int
	err := w.conn.row(stmtCheckpoint).Scan(&busy, &frames, &copied)
	w.stepped(began)
	if failed := err != nil; failed != w.logFailed {
		w.logFailed = failed
		if failed {
			w.log.Warn("ledger log cannot be emptied", "file", w.path, "error", err)
		}
	}
}
