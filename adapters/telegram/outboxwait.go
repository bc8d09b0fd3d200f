package telegram

import (
	"context"

	"bareclaw/core"
)

// wait returns a delivery once it has ended. It returns the cause of ctx when that
// ends first.
func (o *outbox) wait(ctx context.Context, id string) (core.Delivery, error) {
	for {
		if d, ended, err := o.waitOnce(ctx, id); ended || err != nil {
			return d, err
		}
	}
}

// waitOnce reports whether a delivery has ended, or returns when that is to be looked at
// again.
func (o *outbox) waitOnce(ctx context.Context, id string) (d core.Delivery, ended bool, err error) {
	w := o.await(id)
	defer o.leave(id, w)
	d, err = o.adapter.o.Core.Delivery(ctx, id) // it may have ended before
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

// An awaited delivery is one that somebody waits for.
type awaited struct {
	ended   chan struct{} // closed when it has ended
	waiting int           // how many wait
}

// await returns what is closed when a delivery ends from now on, until leave.
func (o *outbox) await(id string) *awaited {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.awaited == nil {
		o.awaited = map[string]*awaited{}
	}
	w := o.awaited[id]
	if w == nil {
		w = &awaited{ended: make(chan struct{})}
		o.awaited[id] = w
	}
	w.waiting++
	return w
}

// leave ends await.
func (o *outbox) leave(id string, w *awaited) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.waiting--; w.waiting == 0 && o.awaited[id] == w {
		delete(o.awaited, id)
	}
}

// ended wakes those who wait for a delivery.
func (o *outbox) ended(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := o.awaited[id]; w != nil {
		close(w.ended)
		delete(o.awaited, id)
	}
}

// withdraw takes a delivery back of which nothing can have been sent, and reports
// whether it was one.
func (o *outbox) withdraw(id string) bool {
	d, err := o.adapter.o.Core.Delivery(context.Background(), id)
	if err != nil || d.State != core.DeliveryPending || len(d.Progress) > 0 || !o.take(id) {
		return false
	}
	d.State, d.Error = core.DeliveryFailed, errWithdrawn.Error()
	if err := o.adapter.o.Core.Delivered(context.Background(), d); err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.withdrawn, id) // the record says so now
	return true
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

// failedTry notes a try that failed, and returns the delivery as it is to be on record.
func (o *outbox) failedTry(out *outgoing, number int, why error) core.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.Attempts, out.Error = number, why.Error()
	return out.Delivery
}

// tried says how a try went: what was refused, or never reached Telegram, was not
// sent.
func (o *outbox) tried(out *outgoing, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.unsure = out.unsure || err == nil || classify(err).Ambiguous
	out.begun = out.unsure
}
