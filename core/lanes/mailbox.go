package lanes

import "sync"

// A mailbox passes functions to the goroutine owning a lane. The mailbox needs no bound:
// functions come from admitted messages, bounded by the queue limit, from the lane's own
// timers, and from callers waiting for an answer.
type mailbox struct {
	wake chan struct{}

	mu     sync.Mutex
	queue  []func()
	spare  []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post queues f, or reports false if the mailbox is closed.
func (m *mailbox) post(f func()) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.queue = append(m.queue, f)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
	return true
}

// close closes the mailbox to new functions. If functions are queued, close does nothing and
// reports false.
func (m *mailbox) close() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) > 0 {
		return false
	}
	m.closed = true
	return true
}

// drain runs all queued functions, in order.
func (m *mailbox) drain() {
	m.mu.Lock()
	batch := m.queue
	m.queue = m.spare[:0]
	m.mu.Unlock()
	ran := 0
	defer func() {
		if ran < len(batch) { // a panic: the rest runs later
			m.putBack(batch[ran:])
		}
	}()
	for i, f := range batch {
		batch[i], ran = nil, i+1
		f()
	}
	m.mu.Lock()
	m.spare = batch[:0]
	m.mu.Unlock()
}

// putBack puts functions at the front of the queue.
func (m *mailbox) putBack(rest []func()) {
	m.mu.Lock()
	m.queue = append(rest[:len(rest):len(rest)], m.queue...)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}
