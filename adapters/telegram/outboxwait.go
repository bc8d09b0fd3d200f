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

// withdraw takes a delivery back of which nothing was sent, nor is being sent, and
// reports whether it was one.
func (o *outbox) withdraw(id string) bool {
	d, err := o.adapter.o.Core.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.take(d) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, "withdrawn"
	err = o.adapter.o.Core.Delivered(context.Background(), d)
	o.ended(id)
	return err == nil
}

// take takes a delivery out of its queue, and keeps it from being queued; false if
// it is not waiting.
func (o *outbox) take(d core.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.withdrawn == nil {
		o.withdrawn = map[string]struct{}{}
	}
	if _, known := o.known[d.ID]; !known {
		o.withdrawn[d.ID] = struct{}{}
		return true
	}
	for i, q := range o.queue[d.Channel] {
		if q.ID == d.ID {
			o.queue[d.Channel] = append(o.queue[d.Channel][:i:i], o.queue[d.Channel][i+1:]...)
			delete(o.known, d.ID)
			return true
		}
	}
	return false
}
