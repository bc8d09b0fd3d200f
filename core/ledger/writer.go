package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	// groupChanges and groupBytes bound what one transaction takes: the first
	// change waits for the last one's statements, and the log grows by all of it.
	groupChanges = 512
	groupBytes   = 4 << 20

	// slowWrite is what a write takes at least that the log tells of, once in slowPause.
	slowWrite = 2 * time.Second
	slowPause = time.Minute

	// spareEntries is the largest queue buffer that is kept for reuse.
	spareEntries = 4096
)

// errRedo means that a change failed after it had written something, so that the
// group must be run again with a savepoint for each change.
var errRedo = errors.New("group must be run again")

// A writer is the one goroutine that writes. It gathers whatever was queued
// while it was busy into one transaction, so that the cost of a sync is shared
// by all who wait for one.
type writer struct {
	path   string
	log    *slog.Logger
	schema schema
	queue  *queue
	// reopened is called when the file was opened anew after a failure.
	reopened func()
	stats    *stats
	stopped  chan struct{} // closed when run has returned

	// Only touched by run.
	conn     *writeConn
	stale    bool // conn met an error after which its files may be dead
	counters counters
	applied  int     // changes in the open transaction
	arrived  int64   // arrivals to be posted, as the open transaction has it
	kept     int64   // the same as of the last commit
	outcomes []error // of the group's changes
	failing  bool    // the last group could not be written
	slowSaid time.Time
	wal      walLog
}

// counters is by how much a transaction moves the account.
type counters struct {
	accepted int64
	settled  [3]int64  // answered, failed, cancelled
	paid     []payment // one for each day, which are hardly ever two
}

func (n *counters) add(m counters) {
	n.accepted += m.accepted
	for i, v := range m.settled {
		n.settled[i] += v
	}
	for _, p := range m.paid {
		n.pay(p)
	}
}

func (n *counters) pay(p payment) {
	if p.usd <= 0 {
		return
	}
	for i := range n.paid {
		if n.paid[i].day == p.day {
			n.paid[i].usd += p.usd
			return
		}
	}
	n.paid = append(n.paid, p)
}

type stats struct {
	commits, changes, checkpoints atomic.Uint64
	steps                         atomic.Uint64         // see Progress
	problem                       atomic.Pointer[error] // why the last write failed; nil if it did not
}

// run writes until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.stopped)
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	var spare []entry
	for {
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

// rest does what was left for when there is nothing else to do.
func (w *writer) rest() {
	if w.kept > 0 {
		w.write([]entry{barrier(func(error) {})})
	}
	w.checkpoint(idlePages)
}

// groupSize returns how many of the entries go into one transaction.
func groupSize(items []entry) int {
	bytes := 0
	for i, e := range items {
		if bytes += e.bytes; i > 0 && bytes > groupBytes || i == groupChanges {
			return i
		}
	}
	return len(items)
}

// write commits a group and tells everybody.
func (w *writer) write(group []entry) {
	if cap(w.outcomes) < len(group) {
		w.outcomes = make([]error, len(group))
	}
	w.outcomes = w.outcomes[:len(group)]
	began := time.Now()
	err := w.attempt(group, false)
	if errors.Is(err, errRedo) {
		err = w.attempt(group, true)
	}
	if err != nil {
		err = storageError(w.path, err)
	}
	if err != nil || w.applied > 0 { // reads that only wait for their turn say nothing of the disk
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

// attempt runs a group in one transaction. What is wrong with a single change
// goes to w.outcomes; an error means that nothing at all was written.
func (w *writer) attempt(group []entry, careful bool) error {
	w.counters, w.applied, w.arrived = counters{}, 0, w.kept
	clear(w.outcomes)
	begun := false
	for i := range group {
		e := &group[i]
		if e.err != nil || e.isBarrier() && w.arrived == 0 {
			w.outcomes[i] = e.err
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
		if err := w.change(e, careful); err != nil {
			if errors.Is(err, errRedo) || isStorage(err) {
				w.rollback(err)
				return err
			}
			w.outcomes[i] = err
		}
	}
	if !begun {
		return nil
	}
	return w.commit()
}

// begin opens a transaction, on a new connection if the old one is suspect.
func (w *writer) begin() error {
	if w.stale {
		conn, err := openWriteConn(w.path, w.schema)
		if err != nil {
			return err
		}
		_ = w.conn.close() // it has failed already
		w.conn, w.stale = conn, false
		w.reopened()
	}
	if _, err := w.conn.exec(stmtBegin); err != nil {
		w.rollback(err)
		return err
	}
	return nil
}

func (w *writer) commit() error {
	if err := w.count(); err != nil {
		w.rollback(err)
		return err
	}
	if _, err := w.conn.exec(stmtCommit); err != nil {
		w.rollback(err)
		w.scrub()
		return err
	}
	w.kept = w.arrived
	w.stats.commits.Add(1)
	w.stats.changes.Add(uint64(w.applied))
	return nil
}

// count adds what the transaction counted to the account.
func (w *writer) count() error {
	n := &w.counters
	if n.accepted != 0 || n.settled != [3]int64{} {
		if _, err := w.conn.exec(stmtCount, n.accepted, n.settled[0], n.settled[1], n.settled[2]); err != nil {
			return err
		}
	}
	for _, p := range n.paid {
		if _, err := w.conn.exec(stmtSpend, p.day, p.usd); err != nil {
			return err
		}
	}
	return nil
}

// rollback undoes the open transaction. SQLite may have done so itself.
func (w *writer) rollback(cause error) {
	_, _ = w.conn.exec(stmtRollback)
	if isStorage(cause) && !isFull(cause) {
		w.stale = true
	}
}

// scrub overwrites what a failed commit left in the log. When only the sync
// failed, the group is there complete, and SQLite would find it the next time it
// has to read the log, after everybody was told that it was not recorded. A
// transaction of no meaning takes its place, and it need not be durable.
func (w *writer) scrub() {
	if _, err := w.conn.exec(stmtBegin); err != nil {
		return
	}
	if _, err := w.conn.exec(stmtScrub); err == nil {
		_, err = w.conn.exec(stmtCommit)
		if err == nil {
			return
		}
	}
	_, _ = w.conn.exec(stmtRollback)
}

// change runs the statements of one change. Normally one that fails has written
// nothing yet; if it has, the answer is errRedo, and the careful way has a
// savepoint to return to. Savepoints cost too much to have them always.
func (w *writer) change(e *entry, careful bool) error {
	if e.isArrival() { // one statement, which writes a row or nothing
		return w.arrive(e)
	}
	if careful {
		if _, err := w.conn.exec(stmtSave); err != nil {
			return err
		}
	}
	var n counters
	var wrote bool
	var failed error
	for i := range e.ops {
		did, err := w.conn.apply(&e.ops[i], &n)
		wrote = wrote || did
		if err != nil {
			failed = err
			break
		}
	}
	switch {
	case failed == nil:
		w.counters.add(n)
		w.applied++
	case isStorage(failed):
		return failed
	case wrote && !careful:
		return errRedo
	case careful:
		if _, err := w.conn.exec(stmtUndo); err != nil {
			return err
		}
	}
	if careful {
		if _, err := w.conn.exec(stmtRelease); err != nil {
			return err
		}
	}
	return failed
}

// stepped notes that something was brought to an end, and logs it where the disk has taken
// long, not more often than once in slowPause: whoever waits for an answer meanwhile wants
// to know why.
func (w *writer) stepped(began time.Time) {
	w.stats.steps.Add(1)
	took := time.Since(began)
	if took < slowWrite || time.Since(w.slowSaid) < slowPause {
		return
	}
	w.slowSaid = time.Now()
	w.log.Warn("the disk is slow: everything waits for the ledger", "file", w.path, "took", took)
}

// note logs when the ledger stops and when it begins again to take writes.
func (w *writer) note(err error) {
	if failing := err != nil; failing != w.failing {
		w.failing = failing
		w.stats.problem.Store(nil)
		if failing {
			w.stats.problem.Store(&err)
			w.log.Error("ledger cannot be written", "file", w.path, "error", err)
		} else {
			w.log.Info("ledger can be written again", "file", w.path)
		}
	}
}

// shut closes the connection, which empties the log into the file.
func (w *writer) shut() error {
	if err := w.conn.close(); err != nil {
		return fmt.Errorf("close ledger %s: %w", filepath.Base(w.path), err)
	}
	return nil
}
