package lanes

import (
	"maps"
	"slices"
	"sync"

	"bareclaw/core"
)

// A registry holds the lanes of the active channels.
type registry struct {
	start   func(core.ChannelKey, *recovered) *lane // makes and runs a lane
	changed func(lanes int)                         // Options.LanesChanged

	mu      sync.Mutex // guards the fields below
	lanes   map[core.ChannelKey]*lane
	greeted map[core.ChannelKey]struct{} // channels that have received the greeting
	closed  bool
}

func newRegistry(start func(core.ChannelKey, *recovered) *lane, changed func(lanes int)) *registry {
	return &registry{start: start, changed: changed, lanes: map[core.ChannelKey]*lane{}, greeted: map[core.ChannelKey]struct{}{}}
}

func (r *registry) find(key core.ChannelKey) (*lane, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.lanes[key]
	return l, ok
}

// findOrStart returns the channel's lane. A new lane begins with the records of an earlier
// process, nil for none.
func (r *registry) findOrStart(key core.ChannelKey, rec *recovered) (*lane, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, core.ErrClosed
	}
	if r.lanes[key] == nil {
		r.lanes[key] = r.start(key, rec)
		r.changed(len(r.lanes))
	}
	return r.lanes[key], nil
}

// post queues f for the channel's lane, replacing a lane retired just now.
func (r *registry) post(key core.ChannelKey, f func(*lane)) (*lane, error) {
	for {
		l, err := r.findOrStart(key, nil)
		if err != nil {
			return nil, err
		}
		if l.post(func() { f(l) }) {
			return l, nil
		}
	}
}

// wake makes the channel's lane, if any, run a step.
func (r *registry) wake(key core.ChannelKey) {
	if l, ok := r.find(key); ok {
		l.post(func() {})
	}
}

func (r *registry) all() []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.lanes))
}

// remove removes a lane about to retire, unless a function waits in the lane's mailbox or the
// registry is closed.
func (r *registry) remove(l *lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !l.mailbox.close() {
		return false
	}
	delete(r.lanes, l.key)
	r.changed(len(r.lanes))
	return true
}

// greet marks the channel as greeted, and reports whether the channel was not greeted before.
func (r *registry) greet(key core.ChannelKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, greeted := r.greeted[key]
	r.greeted[key] = struct{}{}
	return !greeted
}

func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
