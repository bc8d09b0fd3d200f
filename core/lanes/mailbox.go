package lanes

import "sync"

// A mailbox hands functions to the one goroutine that owns a lane. It needs no
// bound: what is posted comes from admitted messages, which are bounded, from the
// lane's own timers, and from callers that wait for their answer.
type mailbox struct {
	wake chan struct{}

	mu     sync.Mutex
	queue  []func()
	spare  []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post reports false, and forgets f, if the mailbox is closed.
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
	default: // a wake-up is already owed
	}
	return true
}

// close takes nothing more from now on; it reports false, and does nothing, if
// something has been posted.
func (m *mailbox) close() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) > 0 {
		return false
	}
	m.closed = true
	return true
}

// drain runs everything posted so far, in order.
func (m *mailbox) drain() {
	m.mu.Lock()
	batch := m.queue
	m.queue = m.spare[:0]
	m.mu.Unlock()
	ran := 0
	defer func() {
		if ran < len(batch) { // a panic: the rest is run later
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

// putBack puts functions before all others.
func (m *mailbox) putBack(rest []func()) {
	m.mu.Lock()
	m.queue = append(rest[:len(rest):len(rest)], m.queue...)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is already owed
	}
}
