package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// An entry is a queued change. An entry without ops is a barrier.
type entry struct {
	*compiler
	lazy bool // may wait for lingerTime
	done func(error)
}

// isBarrier reports whether the entry only waits for all earlier entries to be readable.
func (e *entry) isBarrier() bool { return len(e.ops) == 0 && e.err == nil }

// lingerTime bounds the wait of a lazy change for further changes to share the commit
// with. Committed without the wait, lazy changes would cost as many pages and nearly as
// many syncs as urgent changes.
const lingerTime = 10 * time.Millisecond

// A queue holds the entries for the writer. The queue is unbounded: lanes bound the
// admitted messages, a message is queued at most a few times, and refusing an outcome
// for lack of room would lose the outcome.
type queue struct {
	wake   wait.Signal   // new entries, or close
	landed atomic.Uint64 // entries committed or refused
	// unposted reports arrivals that reads would not find. The writer stores unposted
	// before landed.
	unposted atomic.Bool

	mu     sync.Mutex // protects the fields below
	items  []entry
	lazy   []entry // held until ripe
	added  uint64  // entries ever added
	ripe   bool    // the lazy entries have lingered long enough, or a barrier waits for the entries
	armed  bool    // the linger timer runs
	closed bool
}

// put appends e. After close, put fails e instead.
func (q *queue) put(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		go e.done(core.ErrClosed) // not on the caller's stack, where locks may be held; ends with the callback
		return
	}
	q.added++
	if e.lazy {
		q.lazy = append(q.lazy, e)
		if !q.armed {
			q.armed = true
			time.AfterFunc(lingerTime, q.ripen)
		}
		return
	}
	q.items = append(q.items, e)
	q.ripe = q.ripe || e.isBarrier()
	q.wake.Send()
}

// commit writes ops and returns once the ops are durable or ctx ends.
func (q *queue) commit(ctx context.Context, k *compiler) error {
	landed := make(chan error, 1)
	q.put(entry{compiler: k, done: func(err error) { landed <- err }})
	select {
	case err := <-landed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run is commit for a statement of the table meta without arguments.
func (q *queue) run(ctx context.Context, s *statement) error {
	return q.commit(ctx, &compiler{ops: []op{{stmt: s, id: "in meta"}}})
}

// count adds 1 to added for an entry that the writer writes without put. The entry adds 1 to
// landed, and without count the next entry would seem to have landed.
func (q *queue) count() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.added++
}

func (q *queue) ripen() {
	q.mu.Lock()
	q.armed = false
	q.ripe = true
	q.mu.Unlock()
	q.wake.Send()
}

// take returns the entries to write now and installs spare as the queue's empty buffer.
// closed reports that no more entries will come.
func (q *queue) take(spare []entry) (items []entry, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items = q.items
	q.items = spare
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
	q.wake.Send()
}

// state returns idle when every added entry has landed and can be read, and closed after
// close.
func (q *queue) state() (idle, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.landed.Load() == q.added && !q.unposted.Load(), q.closed
}
