package ledger

import (
	"sync"
	"sync/atomic"
)

// An entry is one change on its way to the disk. One without ops is only a
// point in the order: its done is called when all before it have landed.
type entry struct {
	ops   []op
	bytes int
	err   error // why it cannot be written at all
	done  func(error)
}

// A queue holds what waits for the writer. It has no bound of its own: lanes
// bound what is admitted, a message is in it at most a few times, and refusing
// an outcome for want of room would lose it.
type queue struct {
	wake   chan struct{} // says "look again"; capacity 1
	landed atomic.Uint64 // entries that have been committed or refused

	mu     sync.Mutex // protects the fields below
	items  []entry
	put    uint64 // entries ever added
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
	q.items = append(q.items, e)
	q.put++
	q.mu.Unlock()
	q.notify()
	return true
}

// take returns everything that waits and gives the queue spare to fill. It
// reports whether nothing more will come.
func (q *queue) take(spare []entry) (items []entry, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, spare
	return items, q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notify()
}

// state reports whether everything that was added has landed, and whether the
// queue was closed.
func (q *queue) state() (idle, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.landed.Load() == q.put, q.closed
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is already owed
	}
}
