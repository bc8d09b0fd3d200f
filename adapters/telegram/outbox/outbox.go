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
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
)

// maxPause bounds the pause between two attempts to read a delivery.
const maxPause = 30 * time.Second

// A Composer returns the parts of a delivery: the same parts each time, to let a later
// process continue. An error other than ErrUndeliverable and core.ErrNotFound is
// temporary.
type Composer func(context.Context, core.Delivery) ([]Part, error)

// An Outbox queues and sends the deliveries of each conversation. Its methods are safe
// for concurrent use.
type Outbox struct {
	env     *env.Env
	sender  *Sender
	compose Composer
	failed  atomic.Int64 // abandoned deliveries

	mu        sync.Mutex // guards the fields below
	started   bool
	startup   []core.Delivery      // until started
	known     map[string]*outgoing // queued or in flight, by id
	queues    map[core.ChannelKey]*queue
	ended     chan struct{}       // closed and replaced when a delivery ends
	withdrawn map[string]struct{} // deliveries withdrawn before being queued
}

// A queue holds the deliveries of one conversation, except the delivery in flight.
type queue struct {
	entries []*outgoing
	sending bool // a goroutine runs sendLoop
}

// An outgoing is a delivery in the outbox.
type outgoing struct {
	core.Delivery
	held      time.Time // not sent before Release; zero: not held
	attempted bool      // a part was sent, or is in flight
	uncertain bool      // an earlier attempt may have sent a part
}

// sendState is the progress of a delivery: the messages sent for the parts.
type sendState struct {
	Sent []int `json:"sent,omitempty"`
}

// New returns an outbox that sends nothing before Start.
func New(e *env.Env, s *Sender, compose Composer) *Outbox {
	return &Outbox{
		env: e, sender: s, compose: compose, known: map[string]*outgoing{}, queues: map[core.ChannelKey]*queue{},
		ended: make(chan struct{}), withdrawn: map[string]struct{}{},
	}
}

// Buffer keeps a delivery until Start has read the pending deliveries: a delivery
// reported both ways is sent once. After Start, Buffer returns false and keeps nothing.
func (o *Outbox) Buffer(d core.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		o.startup = append(o.startup, d)
	}
	return !o.started
}

// Start adds the deliveries pending in the ledger, then the buffered deliveries, and
// begins to send. The function add adds a single delivery.
func (o *Outbox) Start(pending []core.Delivery, add func(core.Delivery)) {
	for batch := pending; ; {
		for _, d := range batch {
			add(d)
		}
		if batch = o.takeStartup(); batch == nil {
			return
		}
	}
}

// takeStartup returns the buffered deliveries. If the buffer is empty, sending begins.
func (o *Outbox) takeStartup() []core.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.startup) > 0 {
		batch := o.startup
		o.startup = nil
		return batch
	}
	o.started = true
	for key, q := range o.queues {
		o.sendLocked(key, q)
	}
	return nil
}

// Add queues a delivery without blocking.
func (o *Outbox) Add(d core.Delivery) { o.add(d, time.Time{}) }

// AddHeld queues a delivery to be sent only after Release. Other deliveries of the
// conversation overtake a held delivery.
func (o *Outbox) AddHeld(d core.Delivery) { o.add(d, time.Now()) }

func (o *Outbox) add(d core.Delivery, held time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, again := o.known[d.ID]
	_, withdrawn := o.withdrawn[d.ID]
	if again || withdrawn || o.env.Work.Ended() {
		return
	}
	tried := d.Progress != nil || d.Attempts > 0
	out := &outgoing{Delivery: d, held: held, attempted: tried, uncertain: tried}
	o.known[d.ID] = out
	q := o.queues[d.Channel]
	if q == nil {
		q = &queue{}
		o.queues[d.Channel] = q
	}
	q.entries = append(q.entries, out)
	o.sendLocked(d.Channel, q)
}

// sendLocked starts the goroutine of a queue, unless the goroutine runs or the queue has
// nothing to send.
func (o *Outbox) sendLocked(key core.ChannelKey, q *queue) {
	if o.started && !q.sending && q.ready() >= 0 {
		q.sending = true
		o.env.Work.Go(func(ctx context.Context) { o.sendLoop(ctx, key, q) })
	}
}

// ready returns the index of the first entry not held, or -1.
func (q *queue) ready() int {
	for i, out := range q.entries {
		if out.held.IsZero() {
			return i
		}
	}
	return -1
}

// A Held is a delivery waiting for Release.
type Held struct {
	Delivery core.Delivery
	Since    time.Time
}

// Held returns the held deliveries of a conversation.
func (o *Outbox) Held(key core.ChannelKey) []Held {
	o.mu.Lock()
	defer o.mu.Unlock()
	var held []Held
	if q := o.queues[key]; q != nil {
		for _, out := range q.entries {
			if !out.held.IsZero() {
				held = append(held, Held{out.Delivery, out.held})
			}
		}
	}
	return held
}

// Release moves a held delivery to the end of the queue, to be sent.
func (o *Outbox) Release(key core.ChannelKey, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.queues[key]
	if q == nil {
		return
	}
	for i, out := range q.entries {
		if out.ID == id && !out.held.IsZero() {
			out.held = time.Time{}
			q.entries = append(append(q.entries[:i:i], q.entries[i+1:]...), out)
			o.sendLocked(key, q)
			return
		}
	}
}

// sendLoop sends the deliveries of a conversation in order, until none is ready.
func (o *Outbox) sendLoop(ctx context.Context, key core.ChannelKey, q *queue) {
	for out := o.next(ctx, key, q); out != nil; out = o.next(ctx, key, q) {
		returned := false
		err := tasks.Guard(o.env.Log, "delivery", func() error {
			err := o.sendWithRetry(ctx, out)
			returned = true
			return err
		})
		if !returned { // a panic
			err = o.giveUp(ctx, out, err)
		}
		if Interrupted(err) {
			return // a part may have been sent: the delivery can no longer be withdrawn
		}
		if err != nil && ctx.Err() == nil {
			o.env.Log.Error("telegram: delivery failed", "channel", string(key), "delivery", out.ID, "err", err)
		}
		o.done(out.ID)
	}
}

// next removes the first ready delivery from a queue. next returns nil when no delivery
// is ready or ctx has ended, and thereby ends the loop.
func (o *Outbox) next(ctx context.Context, key core.ChannelKey, q *queue) *outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := q.ready()
	if i < 0 || ctx.Err() != nil {
		q.sending = false
		if len(q.entries) == 0 {
			delete(o.queues, key)
		}
		return nil
	}
	out := q.entries[i]
	q.entries = append(q.entries[:i:i], q.entries[i+1:]...)
	return out
}

func (o *Outbox) done(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, id)
	close(o.ended)
	o.ended = make(chan struct{})
}

// Pending returns the number of deliveries queued or in flight.
func (o *Outbox) Pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known)
}

// Failed returns the number of abandoned deliveries.
func (o *Outbox) Failed() int64 { return o.failed.Load() }

// An unreadableError reports that the ledger could not be read: the delivery is still
// pending.
type unreadableError struct{ error }

func (e unreadableError) Unwrap() error { return e.error }

// sendWithRetry sends a delivery. While the ledger cannot be read, sendWithRetry blocks,
// and thereby the later deliveries of the conversation: no other code would retry before
// a restart.
func (o *Outbox) sendWithRetry(ctx context.Context, out *outgoing) error {
	for failures := 1; ; failures++ {
		err := o.send(ctx, out)
		if unreadable := (unreadableError{}); !errors.As(err, &unreadable) || errors.Is(err, core.ErrClosed) || ctx.Err() != nil {
			return err
		}
		o.env.Log.Warn("telegram: a delivery waits for the ledger", "channel", string(out.Channel), "delivery", out.ID, "err", err)
		tasks.Pause(ctx, tasks.Backoff(failures, maxPause))
	}
}

// send sends the unsent parts of a delivery.
func (o *Outbox) send(ctx context.Context, out *outgoing) error {
	now, err := o.env.Delivery(ctx, out.ID) // the delivery may have been sent long ago
	if err != nil {
		return unreadableError{err}
	}
	if now.State != core.DeliveryPending || !o.refresh(out, now) {
		return nil
	}
	to, ok := o.env.Moves.Of(out.Channel)
	if !ok {
		return o.giveUp(ctx, out, fmt.Errorf("%q is not a chat", out.Channel))
	}
	var done sendState
	if out.Progress != nil {
		if err := json.Unmarshal(out.Progress, &done); err != nil {
			return o.giveUp(ctx, out, fmt.Errorf("read the progress of a delivery: %w", err))
		}
	}
	parts, err := o.compose(ctx, out.Delivery)
	switch {
	case errors.Is(err, ErrUndeliverable), errors.Is(err, core.ErrNotFound):
		return o.giveUp(ctx, out, err)
	case err != nil:
		return unreadableError{err}
	}
	return o.sendParts(ctx, &to, out, parts, done)
}

// sendParts sends the parts after the parts in done. An earlier process with other
// settings may have made more parts: then sendParts sends the last part again, which may
// be the file with the whole text.
func (o *Outbox) sendParts(ctx context.Context, to *chats.Address, out *outgoing, parts []Part, done sendState) error {
	for n := min(len(done.Sent), max(len(parts)-1, 0)); n < len(parts); n++ {
		id, err := o.sendPart(ctx, to, out, parts[n])
		if Interrupted(err) {
			return err // the next process continues
		}
		if err != nil {
			return o.giveUp(ctx, out, err)
		}
		done.Sent = append(done.Sent, id)
		if err := o.progress(ctx, *to, out, done, n == len(parts)-1); err != nil {
			return err
		}
	}
	if len(parts) == 0 {
		return o.progress(ctx, *to, out, done, true)
	}
	return nil
}

// progress records how far a delivery is.
func (o *Outbox) progress(ctx context.Context, to chats.Address, out *outgoing, done sendState, whole bool) (err error) {
	if out.Progress, err = json.Marshal(done); err != nil {
		return err
	}
	d := out.Delivery
	if whole {
		d.State, d.Error = core.DeliverySent, ""
	}
	if err := o.record(ctx, d); err != nil {
		return err
	}
	if n := len(done.Sent); n > 0 && done.Sent[n-1] != 0 {
		o.env.Records.LinkMessage(ctx, to.Chat, done.Sent[n-1], records.Link{Message: d.Message, Delivery: d.ID})
	}
	return nil
}

// record writes the state of a delivery, also while the adapter ends, and retries while
// the ledger cannot be written: without the record the message would be sent again.
func (o *Outbox) record(ctx context.Context, d core.Delivery) error {
	return tasks.UntilRecorded(ctx, func() error { return o.env.Delivered(context.WithoutCancel(ctx), d) }, nil)
}

// giveUp records a delivery as failed.
func (o *Outbox) giveUp(ctx context.Context, out *outgoing, why error) error {
	o.failed.Add(1)
	d := out.Delivery
	d.State, d.Error = core.DeliveryFailed, why.Error()
	return errors.Join(why, o.record(ctx, d))
}
