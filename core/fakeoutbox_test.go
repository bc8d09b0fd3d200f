package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A fakeOutbox is the part of the fake ledger that adapters to remote places use.
type fakeOutbox struct {
	deliveries []*Delivery
	inbounds   []*Inbound
	records    []Record
}

func (o *fakeOutbox) apply(c Change) {
	for _, d := range c.Deliver {
		if o.delivery(d.ID) == nil {
			copied := *d
			copied.State = DeliveryPending
			o.deliveries = append(o.deliveries, &copied)
		}
	}
	for _, d := range c.Delivered {
		if known := o.delivery(d.ID); known != nil && known.State == DeliveryPending {
			known.State, known.Progress, known.Attempts, known.Error, known.EndedAt = d.State, d.Progress, d.Attempts, d.Error, d.EndedAt
		}
	}
	for _, i := range c.Inbound {
		if !slices.ContainsFunc(o.inbounds, func(known *Inbound) bool { return known.ID == i.ID }) {
			copied := *i
			o.inbounds = append(o.inbounds, &copied)
		}
	}
	for _, i := range o.inbounds {
		if slices.Contains(c.Handled, i.ID) {
			i.Handled, i.Body = true, nil
		}
	}
	o.inbounds = slices.DeleteFunc(o.inbounds, func(i *Inbound) bool { return i.Handled && i.ReceivedAt.Before(c.ForgetInbound) })
	for _, f := range c.ForgetRecords {
		o.records = slices.DeleteFunc(o.records, func(r Record) bool {
			return r.Owner == f.Owner && strings.HasPrefix(r.Key, f.Prefix) && r.At.Before(f.Before)
		})
	}
	for _, r := range c.Records {
		o.records = slices.DeleteFunc(o.records, func(k Record) bool { return k.Owner == r.Owner && k.Key == r.Key })
		if r.Doc != nil {
			o.records = append(o.records, *r)
		}
	}
}

func (o *fakeOutbox) delivery(id string) *Delivery {
	i := slices.IndexFunc(o.deliveries, func(d *Delivery) bool { return d.ID == id })
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
		err = fmt.Errorf("of the outbox: %w", ErrNotFound)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[len(all)-1], nil
}

func (l *fakeLedger) deliveriesOf(ctx context.Context, match func(*Delivery) bool) ([]Delivery, error) {
	return found(ctx, l, func() []*Delivery { return l.outbox.deliveries }, match)
}

func (l *fakeLedger) PendingDeliveries(ctx context.Context, adapter string) ([]Delivery, error) {
	return l.deliveriesOf(ctx, func(d *Delivery) bool { return d.Adapter == adapter && d.State == DeliveryPending })
}

func (l *fakeLedger) MessageDeliveries(ctx context.Context, id MessageID) ([]Delivery, error) {
	return l.deliveriesOf(ctx, func(d *Delivery) bool { return d.Message == id })
}

func (l *fakeLedger) Delivery(ctx context.Context, id string) (Delivery, error) {
	return newest(l.deliveriesOf(ctx, func(d *Delivery) bool { return d.ID == id }))
}

func (l *fakeLedger) inboundsOf(ctx context.Context, match func(*Inbound) bool) ([]Inbound, error) {
	return found(ctx, l, func() []*Inbound { return l.outbox.inbounds }, match)
}

func (l *fakeLedger) Unhandled(ctx context.Context, adapter string) ([]Inbound, error) {
	return l.inboundsOf(ctx, func(i *Inbound) bool { return i.Adapter == adapter && !i.Handled })
}

func (l *fakeLedger) LastInbound(ctx context.Context, adapter string) (Inbound, error) {
	return newest(l.inboundsOf(ctx, func(i *Inbound) bool { return i.Adapter == adapter }))
}

func (l *fakeLedger) Records(ctx context.Context, owner, prefix string) ([]Record, error) {
	all, err := found(ctx, l, func() []*Record {
		var out []*Record
		for i := range l.outbox.records {
			out = append(out, &l.outbox.records[i])
		}
		return out
	}, func(r *Record) bool { return r.Owner == owner && strings.HasPrefix(r.Key, prefix) })
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}

func (l *fakeLedger) Record(ctx context.Context, owner, key string) (Record, error) {
	all, err := l.Records(ctx, owner, key)
	return newest(slices.DeleteFunc(all, func(r Record) bool { return r.Key != key }), err)
}
