package mounts

import (
	"context"
	"sync"
	"time"
)

// endGrace is how long servers may take to end with the gateway.
const endGrace = time.Second

// A lifetime is that of the room: what it has started ends with the gateway, and is waited for.
type lifetime struct {
	ctx context.Context // ends with the gateway

	mu      sync.Mutex // guards the fields below
	ending  bool       // nothing is to be started any more
	running sync.WaitGroup
}

// isOver reports whether the gateway ends.
func (l *lifetime) isOver() bool { return l.ctx.Err() != nil }

// spawn runs a function, for whose end Run waits; false: Run has ended, or is about to.
func (l *lifetime) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return false
	}
	l.running.Go(f)
	return true
}

// end has no more functions run, and waits for those that do.
func (l *lifetime) end() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.running.Wait()
}

// lastMoments returns a context that ends when a server may take no more time to end: soon after the gateway has
// ended, else not.
func (l *lifetime) lastMoments() (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(l.ctx)
	if l.isOver() {
		return context.WithTimeout(ctx, endGrace)
	}
	return context.WithCancel(ctx)
}
