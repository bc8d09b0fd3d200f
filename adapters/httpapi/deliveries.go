package httpapi

import (
	"sync"
	"time"

	"bareclaw/core"
)

// maxDeliveries is of how many messages it is remembered when a client got their
// outcome. It is not on record: over HTTP a client asks, and may ask again.
const maxDeliveries = 4096

// deliveries knows when the outcomes of the newest messages were first delivered.
// The zero value is ready; all methods are safe for concurrent use.
type deliveries struct {
	mu    sync.Mutex // protects the fields below
	times map[core.MessageID]time.Time
	order []core.MessageID // a ring, once it is full
	next  int
}

// note remembers that a client has got the message's outcome.
func (d *deliveries) note(m *core.Message) {
	if !m.State.Final() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[core.MessageID]time.Time{}
	}
	if _, known := d.times[m.ID]; known {
		return
	}
	d.times[m.ID] = time.Now()
	if len(d.order) < maxDeliveries {
		d.order = append(d.order, m.ID)
		return
	}
	delete(d.times, d.order[d.next])
	d.order[d.next] = m.ID
	d.next = (d.next + 1) % maxDeliveries
}

// at returns when that was, or the zero time if it is not known.
func (d *deliveries) at(id core.MessageID) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.times[id]
}
