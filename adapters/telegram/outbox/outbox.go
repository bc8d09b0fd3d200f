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
	"sync/atomic"

	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

// An Outbox queues and sends the deliveries of each conversation. Its methods are safe
// for concurrent use.
type Outbox struct {
	env       *env.Env
	sender    *Sender
	fileOver  int // an answer of more messages is sent as a file
	composers map[core.DeliveryKind]composer
	failed    atomic.Int64 // abandoned deliveries
	queues    *queues
}

type composer func(context.Context, core.Delivery) ([]Part, error)

// New returns an outbox that sends nothing before Start.
func New(e *env.Env, s *Sender, fileOver int) *Outbox {
	o := &Outbox{env: e, sender: s, fileOver: fileOver, composers: map[core.DeliveryKind]composer{}}
	Compose(o, KindNote, func(_ context.Context, _ core.Delivery, n view.Note) ([]Part, error) { return NoteParts(n), nil })
	o.queues = newQueues(func(key core.ChannelKey) {
		e.Work.Go(func(ctx context.Context) { o.sendLoop(ctx, key) })
	})
	return o
}

// Compose sets how the deliveries of a kind become parts, before the first delivery is
// added: from the delivery and its body always the same parts, to let a later process
// continue. An error other than ErrUndeliverable and core.ErrNotFound is temporary.
func Compose[T any](o *Outbox, kind core.DeliveryKind, parts func(context.Context, core.Delivery, T) ([]Part, error)) {
	o.composers[kind] = func(ctx context.Context, d core.Delivery) ([]Part, error) {
		var body T
		if err := json.Unmarshal(d.Body, &body); err != nil && len(d.Body) > 0 {
			return nil, fmt.Errorf("%w: %w", ErrUndeliverable, err)
		}
		return parts(ctx, d, body)
	}
}

// Buffer keeps a delivery until Start has added the pending deliveries, which are older.
// After Start, Buffer returns false and keeps nothing.
func (o *Outbox) Buffer(d core.Delivery) bool { return o.queues.buffer(d) }

// Start adds the deliveries pending in the ledger, then the buffered deliveries, and
// begins to send. The function add adds a single delivery.
func (o *Outbox) Start(pending []core.Delivery, add func(core.Delivery)) {
	for batch := pending; ; {
		for _, d := range batch {
			add(d)
		}
		if batch = o.queues.takeBuffered(); batch == nil {
			return
		}
	}
}

// Add queues a delivery without blocking, unless the delivery is queued already.
func (o *Outbox) Add(d core.Delivery) {
	if !o.env.Work.Ended() {
		o.queues.add(d)
	}
}

// Pending returns the number of deliveries queued or in flight.
func (o *Outbox) Pending() int { return o.queues.pending() }

// Failed returns the number of abandoned deliveries.
func (o *Outbox) Failed() int64 { return o.failed.Load() }

// sendLoop sends the deliveries of a conversation in order, until none is left.
func (o *Outbox) sendLoop(ctx context.Context, key core.ChannelKey) {
	for out := o.queues.next(ctx, key); out != nil; out = o.queues.next(ctx, key) {
		err := tasks.Guard(o.env.Log, "delivery", func() error { return (&transfer{o: o, out: out}).run(ctx) })
		if Interrupted(err) {
			return // a part may have been sent: the delivery can no longer be withdrawn
		}
		if err != nil {
			err = o.giveUp(ctx, out.Delivery, err)
		}
		if err != nil && ctx.Err() == nil {
			o.env.Log.Error("telegram: delivery failed", "channel", string(key), "delivery", out.ID, "err", err)
		}
		o.queues.done(out.ID)
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
	return tasks.UntilRecorded(ctx, func() error { return o.env.Delivered(context.WithoutCancel(ctx), d) }, nil)
}

// Wait returns a delivery after the delivery has ended. If ctx ends first, Wait returns
// the cause of ctx.
func (o *Outbox) Wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		ended := o.queues.nextEnd()
		d, err := o.env.Delivery(ctx, id)
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

// errWithdrawn is the failure of a withdrawn delivery.
var errWithdrawn = fmt.Errorf("%w: it was withdrawn before it was sent", ErrUndeliverable)

// Withdraw fails a delivery if no part can have been sent, and returns false otherwise.
func (o *Outbox) Withdraw(id string) bool {
	d, err := o.env.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.queues.withdraw(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	if err := o.env.Delivered(context.Background(), d); err != nil {
		return false
	}
	o.queues.forget(id) // the record now has the withdrawal
	return true
}
