package httpapi

import (
	"sync"
)

// A Reason says why the server drains. The reason is the name of the last event on
// every stream.
type Reason string

// The reasons to drain.
const (
	Restarting   Reason = "restarting"
	ShuttingDown Reason = "shutdown"
)

// lifecycle knows whether the server serves, drains or hands over.
type lifecycle struct {
	once     sync.Once
	done     chan struct{} // closed when the server drains or hands over
	reason   Reason        // written before done is closed
	handover chan struct{} // closed before done when another process takes over
}

func newLifecycle() *lifecycle {
	return &lifecycle{done: make(chan struct{}), handover: make(chan struct{})}
}

// drain reports whether this call has begun it.
func (l *lifecycle) drain(reason Reason) (first bool) {
	l.once.Do(func() {
		l.reason, first = reason, true
		close(l.done)
	})
	return first
}

func (l *lifecycle) handOver() {
	close(l.handover)
	l.drain(Restarting)
}

func (l *lifecycle) draining() bool    { return isClosed(l.done) }
func (l *lifecycle) handingOver() bool { return isClosed(l.handover) }

// checkOpen refuses a request while the server drains. During a hand-over the request
// goes on: core refuses what it no longer takes, and the successor gets the request.
func (l *lifecycle) checkOpen() error {
	if l.draining() && !l.handingOver() {
		return shuttingDown()
	}
	return nil
}

// onDrain calls f when the server drains, unless stop is called before.
func (l *lifecycle) onDrain(f func()) (stop func()) {
	over := make(chan struct{})
	go func() { // ends with the request, at the latest
		select {
		case <-l.done:
			f()
		case <-over:
		}
	}()
	return func() { close(over) }
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
