package telegram

import (
	"context"

	"bareclaw/core"
)

// wait returns a delivery once it has ended. It returns the cause of ctx when that
// ends first.
func (o *outbox) wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		ended := o.await(id)
		d, err := o.adapter.o.Core.Delivery(ctx, id) // it may have ended before
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

// await returns what is closed when a delivery ends from now on.
func (o *outbox) await(id string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.awaited == nil {
		o.awaited = map[string]chan struct{}{}
	}
	if o.awaited[id] == nil {
		o.awaited[id] = make(chan struct{})
	}
	return o.awaited[id]
}

// ended wakes those who wait for a delivery.
func (o *outbox) ended(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.awaited[id]; c != nil {
		close(c)
	}
	delete(o.awaited, id)
}

// withdraw takes a delivery back of which nothing can have been sent, and reports
// whether it was one.
func (o *outbox) withdraw(id string) bool {
	d, err := o.adapter.o.Core.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.take(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	return o.adapter.o.Core.Delivered(context.Background(), d) == nil
}

// take keeps a delivery from being sent; false if it may have been.
func (o *outbox) take(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.known[id]
	if out == nil {
		if o.withdrawn == nil {
			o.withdrawn = map[string]struct{}{}
		}
		o.withdrawn[id] = struct{}{}
		return true
	}
	if out.begun {
		return false
	}
	out.State = core.DeliveryFailed
	return true
}

// refresh has a delivery be as it is on record; false if it was withdrawn.
func (o *outbox) refresh(out *outgoing, d core.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.State != core.DeliveryPending {
		return false
	}
	out.Delivery = d
	return true
}

// begin says that something is about to be sent of a delivery; false if it was
// withdrawn.
func (o *outbox) begin(out *outgoing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.State != core.DeliveryPending {
		return false
	}
	out.begun = true
	return true
}

// tried says how a try went: what was refused, or never reached Telegram, was not
// sent.
func (o *outbox) tried(out *outgoing, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.unsure = out.unsure || err == nil || classify(err).Ambiguous
	out.begun = out.unsure
}
