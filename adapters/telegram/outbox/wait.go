package outbox

import (
	"context"
	"fmt"

	"bareclaw/core"
)

// A waiter wakes the goroutines waiting for a delivery.
type waiter struct {
	ended   chan struct{} // closed when the delivery has ended
	waiting int           // number of waiting goroutines
}

// Wait returns a delivery after the delivery has ended. If ctx ends first, Wait returns
// the cause of ctx.
func (o *Outbox) Wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		if d, ended, err := o.waitOnce(ctx, id); ended || err != nil {
			return d, err
		}
	}
}

// waitOnce reports whether a delivery has ended, or returns when to look again.
func (o *Outbox) waitOnce(ctx context.Context, id string) (d core.Delivery, ended bool, err error) {
	w := o.join(id)
	defer o.leave(id, w)
	d, err = o.o.Ledger.Delivery(ctx, id)
	if err != nil || d.State != core.DeliveryPending {
		return d, true, err
	}
	select {
	case <-w.ended:
		return d, false, nil
	case <-ctx.Done():
		return d, false, context.Cause(ctx)
	}
}

func (o *Outbox) join(id string) *waiter {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waiters[id]
	if w == nil {
		w = &waiter{ended: make(chan struct{})}
		o.waiters[id] = w
	}
	w.waiting++
	return w
}

func (o *Outbox) leave(id string, w *waiter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.waiting--; w.waiting == 0 && o.waiters[id] == w {
		delete(o.waiters, id)
	}
}

// errWithdrawn is the failure of a withdrawn delivery.
var errWithdrawn = fmt.Errorf("%w: it was withdrawn before it was sent", ErrUndeliverable)

// Withdraw fails a delivery if no part can have been sent, and returns false otherwise.
func (o *Outbox) Withdraw(id string) bool {
	d, err := o.o.Ledger.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.block(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	if err := o.o.Ledger.Delivered(context.Background(), d); err != nil {
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
