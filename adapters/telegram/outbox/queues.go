package outbox

import (
	"context"
	"sync"

	"bareclaw/core"
)

// An outgoing is a delivery in the outbox. Only the goroutine that sends the delivery
// uses the embedded Delivery.
type outgoing struct {
	core.Delivery
	attempted bool // a part was sent or is in flight
	withdrawn bool // must not be sent
}

// The queues hold the deliveries of each conversation. The methods of queues are safe for
// concurrent use.
type queues struct {
	send func(core.ChannelKey) // starts the goroutine that empties a queue

	mu       sync.Mutex // guards the fields below
	started  bool
	buffered []core.Delivery      // until started
	known    map[string]*outgoing // queued or in flight, by id
	// waiting holds the deliveries of each conversation, except the delivery in flight.
	// Once started, a goroutine empties each queue, and removes the empty queue.
	waiting map[core.ChannelKey][]*outgoing
	ended   chan struct{} // closed and replaced when a delivery ends
}

func newQueues(send func(core.ChannelKey)) *queues {
	return &queues{send: send, known: map[string]*outgoing{}, waiting: map[core.ChannelKey][]*outgoing{}, ended: make(chan struct{})}
}

func (q *queues) buffer(d core.Delivery) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.started {
		q.buffered = append(q.buffered, d)
	}
	return !q.started
}

// takeBuffered returns the buffered deliveries. If there are none, sending begins.
func (q *queues) takeBuffered() []core.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.buffered
	q.buffered = nil
	if batch == nil {
		q.started = true
		for key := range q.waiting {
			q.send(key)
		}
	}
	return batch
}

func (q *queues) add(d core.Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[d.ID] != nil {
		return
	}
	out := &outgoing{Delivery: d, attempted: d.Progress != nil || d.Attempts > 0}
	q.known[d.ID] = out
	waiting, sending := q.waiting[d.Channel]
	q.waiting[d.Channel] = append(waiting, out)
	if q.started && !sending {
		q.send(d.Channel)
	}
}

// next removes the first delivery from a queue. next returns nil when the queue is empty
// or ctx has ended, and thereby ends the queue's goroutine.
func (q *queues) next(ctx context.Context, key core.ChannelKey) *outgoing {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting[key]
	if len(waiting) == 0 || ctx.Err() != nil {
		delete(q.waiting, key)
		return nil
	}
	q.waiting[key] = waiting[1:]
	return waiting[0]
}

// begin marks a part as in flight, and returns false if the delivery was withdrawn.
func (q *queues) begin(out *outgoing) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	out.attempted = out.attempted || !out.withdrawn
	return !out.withdrawn
}

// attempted marks the end of an attempt, and whether any part may have arrived.
func (q *queues) attempted(out *outgoing, arrived bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out.attempted = arrived
}

// withdraw keeps a delivery, queued or not, from being sent, and returns false if a part
// may have been sent.
func (q *queues) withdraw(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.known[id]
	if out == nil {
		out = &outgoing{}
		q.known[id] = out
	}
	out.withdrawn = out.withdrawn || !out.attempted
	return out.withdrawn
}

func (q *queues) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, id)
}

// done removes a delivery that has ended, and wakes the callers of Wait.
func (q *queues) done(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, id)
	close(q.ended)
	q.ended = make(chan struct{})
}

// nextEnd returns a channel that is closed when any delivery ends.
func (q *queues) nextEnd() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

func (q *queues) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.known)
}
