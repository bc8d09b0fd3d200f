package lanes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bareclaw/core"
)

// A fakeOutbox is the part of the fake ledger that adapters to remote places use.
type fakeOutbox struct {
	deliveries []*core.Delivery
	inbounds   []*core.Inbound
	records    []core.Record
}

func (o *fakeOutbox) apply(c core.Change) {
	for _, d := range c.Deliver {
		if o.delivery(d.ID) == nil {
			copied := *d
			copied.State = core.DeliveryPending
			o.deliveries = append(o.deliveries, &copied)
		}
	}
	for _, d := range c.Delivered {
		if known := o.delivery(d.ID); known != nil && known.State == core.DeliveryPending {
			known.State, known.Progress, known.Attempts, known.Error, known.EndedAt = d.State, d.Progress, d.Attempts, d.Error, d.EndedAt
		}
	}
	for _, i := range c.Inbound {
		if !slices.ContainsFunc(o.inbounds, func(known *core.Inbound) bool { return known.ID == i.ID }) {
			copied := *i
			o.inbounds = append(o.inbounds, &copied)
		}
	}
	for _, i := range o.inbounds {
		if slices.Contains(c.Handled, i.ID) {
			i.Handled, i.Body = true, nil
		}
	}
	o.inbounds = slices.DeleteFunc(o.inbounds, func(i *core.Inbound) bool { return i.Handled && i.ReceivedAt.Before(c.ForgetInbound) })
	for _, f := range c.ForgetRecords {
		o.records = slices.DeleteFunc(o.records, func(r core.Record) bool {
			return r.Owner == f.Owner && strings.HasPrefix(r.Key, f.Prefix) && r.At.Before(f.Before)
		})
	}
	for _, r := range c.Records {
		o.records = slices.DeleteFunc(o.records, func(k core.Record) bool { return k.Owner == r.Owner && k.Key == r.Key })
		if r.Doc != nil {
			o.records = append(o.records, *r)
		}
	}
}

func (o *fakeOutbox) delivery(id string) *core.Delivery {
	i := slices.IndexFunc(o.deliveries, func(d *core.Delivery) bool { return d.ID == id })
	if i < 0 {
		return nil
	}
	return o.deliveries[i]
}

// found returns copies of what matches once everything before is written.
func found[T any](ctx context.Context, l *fakeLedger, all func() []*T, match func(*T) bool) ([]T, error) {
	if err := l.landed(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []T
	for _, v := range all() {
		if match(v) {
			out = append(out, *v)
		}
	}
	return out, nil
}

// newest returns the last of what was found.
func newest[T any](all []T, err error) (T, error) {
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("of the outbox: %w", core.ErrNotFound)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[len(all)-1], nil
}

func (l *fakeLedger) deliveriesOf(ctx context.Context, match func(*core.Delivery) bool) ([]core.Delivery, error) {
	return found(ctx, l, func() []*core.Delivery { return l.outbox.deliveries }, match)
}

func (l *fakeLedger) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	return l.deliveriesOf(ctx, func(d *core.Delivery) bool { return d.Adapter == adapter && d.State == core.DeliveryPending })
}

func (l *fakeLedger) MessageDeliveries(ctx context.Context, id core.MessageID) ([]core.Delivery, error) {
	return l.deliveriesOf(ctx, func(d *core.Delivery) bool { return d.Message == id })
}

func (l *fakeLedger) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	return newest(l.deliveriesOf(ctx, func(d *core.Delivery) bool { return d.ID == id }))
}

func (l *fakeLedger) inboundsOf(ctx context.Context, match func(*core.Inbound) bool) ([]core.Inbound, error) {
	return found(ctx, l, func() []*core.Inbound { return l.outbox.inbounds }, match)
}

func (l *fakeLedger) Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error) {
	return l.inboundsOf(ctx, func(i *core.Inbound) bool { return i.Adapter == adapter && !i.Handled })
}

func (l *fakeLedger) LastInbound(ctx context.Context, adapter string) (core.Inbound, error) {
	return newest(l.inboundsOf(ctx, func(i *core.Inbound) bool { return i.Adapter == adapter }))
}

func (l *fakeLedger) Records(ctx context.Context, owner, prefix string) ([]core.Record, error) {
	all, err := found(ctx, l, func() []*core.Record {
		var out []*core.Record
		for i := range l.outbox.records {
			out = append(out, &l.outbox.records[i])
		}
		return out
	}, func(r *core.Record) bool { return r.Owner == owner && strings.HasPrefix(r.Key, prefix) })
	slices.SortFunc(all, func(a, b core.Record) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}

func (l *fakeLedger) Record(ctx context.Context, owner, key string) (core.Record, error) {
	all, err := l.Records(ctx, owner, key)
	return newest(slices.DeleteFunc(all, func(r core.Record) bool { return r.Key != key }), err)
}
