// Package outbox sends every message and edit of the adapter to the chats. A delivery is
// recorded in the ledger until Telegram accepts the delivery. The deliveries of one
// conversation are sent in order, and each part is recorded before the next part is
// sent.
//
// A restart may repeat the part in flight, and loses none.
package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/internal/guard"
)

// Deliveries are what the core has the adapter bring to chats.
type Deliveries interface {
	Deliver(ctx context.Context, d *core.Delivery, rs ...*core.Record) error
	Redeliver(ctx context.Context, d *core.Delivery) error
	Delivered(ctx context.Context, d core.Delivery) error
	Delivery(ctx context.Context, id string) (core.Delivery, error)
}

// An Outbox queues and sends the deliveries of each conversation. Its methods are safe
// for concurrent use.
type Outbox struct {
	env        *base.Base
	deliveries Deliveries
	sender     *Sender
	fileOver   int // an answer of more messages is sent as a file
	composers  map[core.DeliveryKind]composer
	failed     atomic.Int64 // abandoned deliveries

	mu      sync.Mutex // guards the fields below
	started bool
	known   map[string]*transfer // queued or in flight, by id
	// waiting holds the deliveries of each conversation, except the delivery in flight.
	// Once started, a goroutine empties each queue, and removes the empty queue.
	waiting map[core.ChannelKey][]*transfer
	ended   chan struct{} // closed and replaced when a delivery ends
}

type composer func(context.Context, core.Delivery) ([]Part, error)

// New returns an outbox that sends nothing before Start.
func New(e *base.Base, d Deliveries, s *Sender, fileOver int) *Outbox {
	o := &Outbox{
		env:        e,
		deliveries: d,
		sender:     s,
		fileOver:   fileOver,
		composers:  map[core.DeliveryKind]composer{},
		known:      map[string]*transfer{},
		waiting:    map[core.ChannelKey][]*transfer{},
		ended:      make(chan struct{}),
	}
	Compose(o, KindNote, func(_ context.Context, _ core.Delivery, n view.Note) ([]Part, error) { return NoteParts(n), nil })
	return o
}

// Compose sets the function that makes the parts of a kind of delivery. Callers call Compose
// before Add. A delivery must always have the same parts, to let a later process continue. An
// error other than ErrUndeliverable and core.ErrNotFound is temporary.
func Compose[T any](o *Outbox, kind core.DeliveryKind, parts func(context.Context, core.Delivery, T) ([]Part, error)) {
	o.composers[kind] = func(ctx context.Context, d core.Delivery) ([]Part, error) {
		var body T
		if err := json.Unmarshal(d.Body, &body); err != nil && len(d.Body) > 0 {
			return nil, fmt.Errorf("%w: %w", ErrUndeliverable, err)
		}
		return parts(ctx, d, body)
	}
}

// Start begins to send.
func (o *Outbox) Start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = true
	for key := range o.waiting {
		o.sendLoop(key)
	}
}

// Add queues a delivery without blocking, unless the delivery is queued already. What is added while its
// delivery ends is queued afterwards: it may have been recorded anew.
func (o *Outbox) Add(d core.Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(d)
}

// add is Add for a caller who holds mu.
func (o *Outbox) add(d core.Delivery) {
	if o.env.Work.Ended() {
		return
	}
	if t := o.known[d.ID]; t != nil {
		t.again = &d
		return
	}
	t := &transfer{Delivery: d, o: o, uncertain: d.Progress != nil || d.Attempts > 0}
	o.known[d.ID] = t
	waiting, sending := o.waiting[d.Channel]
	o.waiting[d.Channel] = append(waiting, t)
	if o.started && !sending {
		o.sendLoop(d.Channel)
	}
}

// Pending returns the number of deliveries queued or in flight.
func (o *Outbox) Pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known)
}

// Failed returns the number of abandoned deliveries.
func (o *Outbox) Failed() int64 { return o.failed.Load() }

// sendLoop starts a goroutine that sends the deliveries of a conversation in order, until
// none is left.
func (o *Outbox) sendLoop(key core.ChannelKey) {
	o.env.Work.Go(func(ctx context.Context) {
		for t := o.next(ctx, key); t != nil; t = o.next(ctx, key) {
			err := guard.Do(o.env.Log, "sending a delivery", func() error { return t.run(ctx) })
			switch {
			case Interrupted(err):
				return // a part may have been sent: the delivery can no longer be withdrawn
			case !o.isKnown(t):
				continue // it was withdrawn, and may have been recorded anew since
			}
			if err != nil {
				err = o.giveUp(ctx, t.Delivery, err)
			}
			if err != nil && ctx.Err() == nil {
				o.env.Log.Error("telegram: delivery failed", "channel", string(key), "delivery", t.ID, "err", err)
			}
			o.done(t.ID)
		}
	})
}

// isKnown reports whether a transfer is in the outbox; one that was withdrawn is not.
func (o *Outbox) isKnown(t *transfer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[t.ID] == t
}

// next removes the first delivery from a queue, and those before it that were withdrawn. next
// returns nil when the queue is empty or ctx has ended, and thereby ends the queue's goroutine.
func (o *Outbox) next(ctx context.Context, key core.ChannelKey) *transfer {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := o.waiting[key]
	for len(waiting) > 0 && o.known[waiting[0].ID] != waiting[0] {
		waiting = waiting[1:]
	}
	if len(waiting) == 0 || ctx.Err() != nil {
		delete(o.waiting, key)
		return nil
	}
	o.waiting[key] = waiting[1:]
	return waiting[0]
}

// done removes a delivery that has ended, and wakes the callers of Wait.
func (o *Outbox) done(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.known[id]
	delete(o.known, id)
	close(o.ended)
	o.ended = make(chan struct{})
	if t != nil && t.again != nil {
		o.add(*t.again)
	}
}

func (o *Outbox) giveUp(ctx context.Context, d core.Delivery, why error) error {
	o.failed.Add(1)
	d.State, d.Error = core.DeliveryFailed, why.Error()
	return errors.Join(why, o.record(ctx, d))
}

// record writes the state of a delivery, also while the adapter ends, and retries while
// the ledger cannot be written: without the record the message would be sent again.
func (o *Outbox) record(ctx context.Context, d core.Delivery) error {
	return records.UntilRecorded(ctx, func() error { return o.deliveries.Delivered(context.WithoutCancel(ctx), d) }, nil)
}

// Wait returns a delivery after the delivery has ended. If ctx ends first, Wait returns
// the cause of ctx.
func (o *Outbox) Wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		o.mu.Lock()
		ended := o.ended
		o.mu.Unlock()
		d, err := o.deliveries.Delivery(ctx, id)
		if err != nil || d.State != core.DeliveryPending {
			return d, err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
	}
}

var errWithdrawn = fmt.Errorf("%w: it was withdrawn before it was sent", ErrUndeliverable)

// Withdraw gives up a delivery of which no part can have been sent; false for any other.
func (o *Outbox) Withdraw(id string) bool {
	d, err := o.deliveries.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.stop(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	if err := o.deliveries.Delivered(context.Background(), d); err != nil {
		return false
	}
	o.done(id) // the record now has the withdrawal
	return true
}

// stop keeps a delivery, queued or not, from being sent, and returns false if a part may
// have been sent.
func (o *Outbox) stop(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.known[id]
	if t == nil {
		t = &transfer{}
		o.known[id] = t
	}
	t.withdrawn = t.withdrawn || !t.uncertain
	return t.withdrawn
}
