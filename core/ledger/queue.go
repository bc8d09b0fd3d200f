package ledger

import (
	"sync"
	"sync/atomic"
	"time"
)

// An entry is one change on its way to the disk. One without ops is a barrier.
type entry struct {
	ops   []op
	bytes int
	err   error // why it cannot be written at all
	lazy  bool  // it can wait for lingerTime
	done  func(error)
}

// barrier returns an entry that is done when all before it can be read.
func barrier(done func(error)) entry { return entry{done: done} }

// isBarrier reports whether the entry only waits for all before it.
func (e *entry) isBarrier() bool { return len(e.ops) == 0 && e.err == nil }

// lingerTime is how long a lazy change may wait for company. With somebody
// waiting for each of them, they would cost as many pages and nearly as many
// syncs as the changes that cannot wait.
const lingerTime = 10 * time.Millisecond

// A queue holds what waits for the writer. It has no bound of its own: lanes
// bound what is admitted, a message is in it at most a few times, and refusing
// an outcome for want of room would lose it.
type queue struct {
	wake   chan struct{} // says "look again"; capacity 1
	landed atomic.Uint64 // entries that have been committed or refused
	// unposted says that there are arrivals which reads would not find. It is
	// stored before landed.
	unposted atomic.Bool

	mu     sync.Mutex // protects the fields below
	items  []entry
	lazy   []entry // those that can wait
	put    uint64  // entries ever added
	ripe   bool    // the lazy ones have waited long enough, or somebody waits for them
	armed  bool    // the linger timer runs
	closed bool
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add appends e and reports whether the queue still takes entries.
func (q *queue) add(e entry) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.put++
	if e.lazy {
		q.lazy = append(q.lazy, e)
		if !q.armed {
			q.armed = true
			time.AfterFunc(lingerTime, q.ripen)
		}
		q.mu.Unlock()
		return true
	}
	q.items = append(q.items, e)
	q.ripe = q.ripe || e.isBarrier()
	q.mu.Unlock()
	q.notify()
	return true
}

// ripen ends the wait of lazy entries.
func (q *queue) ripen() {
	q.mu.Lock()
	q.armed, q.ripe = false, true
	q.mu.Unlock()
	q.notify()
}

// take returns what is to be written now, and gives the queue spare to fill. It
// reports whether nothing more will come.
func (q *queue) take(spare []entry) (items []entry, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, spare
	if q.ripe || q.closed {
		q.ripe = false
		items = append(q.lazy, items...)
		q.lazy = nil
	}
	return items, q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notify()
}

// state reports whether everything that was added has landed and can be read, and
// whether the queue was closed.
func (q *queue) state() (idle, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.landed.Load() == q.put && !q.unposted.Load(), q.closed
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is already owed
	}
}
