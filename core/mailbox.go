package core

import "sync"

// A mailbox hands functions to the one goroutine that owns a lane. It needs no
// bound: what is posted comes from admitted messages, which are bounded, and
// from callers that wait for their answer.
type mailbox struct {
	wake chan struct{}

	mu    sync.Mutex
	queue []func()
	spare []func()
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.queue = append(m.queue, f)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // a wake-up is already owed
	}
}

// drain runs everything posted so far, in order.
func (m *mailbox) drain() {
	m.mu.Lock()
	batch := m.queue
	m.queue = m.spare[:0]
	m.mu.Unlock()
	for i, f := range batch {
		batch[i] = nil
		f()
	}
	m.mu.Lock()
	m.spare = batch[:0]
	m.mu.Unlock()
}
