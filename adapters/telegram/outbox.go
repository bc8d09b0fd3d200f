package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bareclaw/core"
)

// maxInFlight is how many calls may be under way at once.
const maxInFlight = 16

// The outbox sends deliveries: those of one conversation in order, each part on
// record before the next one is sent.
type outbox struct {
	adapter *Adapter

	mu    sync.Mutex
	known map[string]struct{}                 // ids of what is in queues or being sent
	queue map[core.ChannelKey][]core.Delivery // of conversations whose courier is at work

	awaited   map[string]chan struct{} // closed when the delivery of that id has ended
	withdrawn map[string]struct{}      // ids of those that were taken back before they were queued
}

// A progress is how far a delivery is: the ids of the messages that its parts
// have become.
type progress struct {
	Sent []int `json:"sent,omitempty"`
}

// load takes up the deliveries that are pending.
func (o *outbox) load(ctx context.Context) error {
	pending, err := o.adapter.o.Core.PendingDeliveries(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: take up deliveries: %w", err)
	}
	for _, d := range pending {
		o.add(d)
	}
	return nil
}

// add takes a delivery over. It does not block.
func (o *outbox) add(d core.Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, again := o.known[d.ID]
	_, withdrawn := o.withdrawn[d.ID]
	if again || withdrawn || o.adapter.ctx.Err() != nil {
		return
	}
	if o.known == nil {
		o.known, o.queue = map[string]struct{}{}, map[core.ChannelKey][]core.Delivery{}
	}
	o.known[d.ID] = struct{}{}
	waiting, busy := o.queue[d.Channel]
	o.queue[d.Channel] = append(waiting, d)
	if !busy {
		o.adapter.start(func(ctx context.Context) { o.carry(ctx, d.Channel) })
	}
}

// carry sends what is queued for a conversation, in order.
func (o *outbox) carry(ctx context.Context, key core.ChannelKey) {
	for {
		o.mu.Lock()
		if len(o.queue[key]) == 0 || ctx.Err() != nil {
			delete(o.queue, key)
			o.mu.Unlock()
			return
		}
		d := o.queue[key][0]
		o.queue[key] = o.queue[key][1:]
		o.mu.Unlock()
		if err := o.adapter.deliver(ctx, d); err != nil && ctx.Err() == nil {
			o.adapter.o.Log.Error("telegram: delivery not made", "channel", string(key), "delivery", d.ID, "err", err)
		}
		o.mu.Lock()
		delete(o.known, d.ID)
		o.mu.Unlock()
	}
}

func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known)
}

// deliver sends the parts of a delivery that have not been sent yet.
func (a *Adapter) deliver(ctx context.Context, d core.Delivery) error {
	p, ok := parsePlace(d.Channel)
	if !ok {
		return a.giveUp(ctx, d, fmt.Errorf("%q is no chat", d.Channel))
	}
	var done progress
	if d.Progress != nil {
		if err := json.Unmarshal(d.Progress, &done); err != nil {
			return a.giveUp(ctx, d, fmt.Errorf("read how far it is: %w", err))
		}
	}
	parts, err := a.compose(ctx, d)
	switch {
	case errors.Is(err, errCannotCompose):
		return a.giveUp(ctx, d, err)
	case err != nil:
		return err // it stays pending, and is tried after the next start
	}
	for len(done.Sent) < len(parts) {
		id, err := a.sendPart(ctx, p, parts[len(done.Sent)])
		if err != nil {
			return a.giveUp(ctx, d, err)
		}
		done.Sent = append(done.Sent, id)
		if d.Progress, err = json.Marshal(done); err != nil {
			return err
		}
		if len(done.Sent) == len(parts) {
			d.State = core.DeliverySent
		}
		if err := a.o.Core.Delivered(ctx, d); err != nil {
			return err
		}
	}
	a.outbox.ended(d.ID)
	return nil
}

// giveUp records that a delivery cannot be made.
func (a *Adapter) giveUp(ctx context.Context, d core.Delivery, why error) error {
	if ctx.Err() != nil {
		return why
	}
	a.health.failures.Add(1)
	d.State, d.Error = core.DeliveryFailed, why.Error()
	err := a.o.Core.Delivered(ctx, d)
	a.outbox.ended(d.ID)
	return errors.Join(why, err)
}

// sendPart sends one part and returns the id of the message that it has become. It
// blocks until Telegram has taken it or refuses it for good.
func (a *Adapter) sendPart(ctx context.Context, p place, part part) (int, error) {
	limit := callTimeout
	if p, ok := part.(interface{ timeLimit() time.Duration }); ok { // one with a file
		limit = p.timeLimit()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return part.send(ctx, a.client, p)
}
