package outbox

import (
	"context"
	"fmt"

	"bareclaw/core"
)

// Wait returns a delivery after the delivery has ended. If ctx ends first, Wait returns
// the cause of ctx.
func (o *Outbox) Wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		ended := o.nextEnd()
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

// nextEnd returns a channel that is closed when any delivery ends.
func (o *Outbox) nextEnd() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// errWithdrawn is the failure of a withdrawn delivery.
var errWithdrawn = fmt.Errorf("%w: it was withdrawn before it was sent", ErrUndeliverable)

// Withdraw fails a delivery if no part can have been sent, and returns false otherwise.
func (o *Outbox) Withdraw(id string) bool {
	d, err := o.env.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.block(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	if err := o.env.Delivered(context.Background(), d); err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.withdrawn, id) // the record now has the withdrawal
	return true
}

// block keeps a delivery from being sent, and returns false if a part may have been
// sent.
func (o *Outbox) block(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.known[id]
	if out == nil {
		o.withdrawn[id] = struct{}{}
		return true
	}
	if out.attempted {
		return false
	}
	out.State = core.DeliveryFailed
	return true
}
