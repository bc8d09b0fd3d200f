package messagesapi

import (
	"context"
	"sync"
)

// gates holds the named gates; the zero value has none yet.
type gates struct {
	mu     sync.Mutex // protects the field below
	byName map[string]*gate
}

// A gate is two one-way events.
type gate struct {
	held, open         chan struct{}
	closeHeld, release func()
}

// named returns the gate of that name, made on first use by either side.
func (g *gates) named(name string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if it, ok := g.byName[name]; ok {
		return it
	}
	held, open := make(chan struct{}), make(chan struct{})
	it := &gate{
		held: held, closeHeld: sync.OnceFunc(func() { close(held) }),
		open: open, release: sync.OnceFunc(func() { close(open) }),
	}
	if g.byName == nil {
		g.byName = map[string]*gate{}
	}
	g.byName[name] = it
	return it
}

// wait blocks until the gate is open or ctx ends.
func (g *gate) wait(ctx context.Context) error {
	g.closeHeld()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Held returns a channel that is closed once a reply has reached the gate of
// that name. It stays closed.
func (s *Standin) Held(name string) <-chan struct{} { return s.gates.named(name).held }

// Release opens the gate of that name for good: replies held there go on, later
// ones pass. It may come before the reply and may be repeated.
func (s *Standin) Release(name string) { s.gates.named(name).release() }
