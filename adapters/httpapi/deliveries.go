package httpapi

import (
	"sync"
	"time"

	"bareclaw/core"
)

// maxDeliveries is how many times it is remembered that a client got an outcome. It
// is not on record: over HTTP a client asks, and may ask again.
const maxDeliveries = 4096

// deliveries knows when outcomes were delivered lately. To note one is on every
// message's way, to look one up is not: hence a ring and no map. The zero value is
// ready; all methods are safe for concurrent use.
type deliveries struct {
	mu    sync.Mutex // protects the fields below
	ring  []delivery
	count int // ever noted
}

type delivery struct {
	id core.MessageID
	at time.Time
}

// note remembers that a client has got the message's outcome.
func (d *deliveries) note(m *core.Message) {
	if !m.State.Final() {
		return
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ring == nil {
		d.ring = make([]delivery, maxDeliveries)
	}
	d.ring[d.count%maxDeliveries] = delivery{m.ID, now}
	d.count++
}

// at returns when a client first got the outcome, or the zero time if it is not
// known.
func (d *deliveries) at(id core.MessageID) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := max(0, d.count-maxDeliveries); i < d.count; i++ { // oldest first
		if e := &d.ring[i%maxDeliveries]; e.id == id {
			return e.at
		}
	}
	return time.Time{}
}
