package core

import (
	"context"
	"fmt"
	"strings"
)

// OnDelivery has f called with every new delivery for the adapter once it is on
// record. f must not block; it is called from several goroutines. What was pending
// before is found with PendingDeliveries after this call: some of it may come
// both ways, and some may have been made already.
func (m *ProcessManager) OnDelivery(adapter string, f func(Delivery)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.couriers == nil {
		m.couriers = map[string]func(Delivery){}
	}
	m.couriers[adapter] = f
}

// Deliver puts deliveries on record and hands them to their adapters. It returns
// once they are durable. Those whose id is known are ignored, but those of them that
// are still pending are handed over as well.
func (m *ProcessManager) Deliver(ctx context.Context, ds ...*Delivery) error {
	return m.DeliverKeeping(ctx, nil, ds...)
}

// DeliverKeeping is Deliver together with Keep: either both are durable or neither.
func (m *ProcessManager) DeliverKeeping(ctx context.Context, rs []*Record, ds ...*Delivery) error {
	now := m.o.Now()
	for _, d := range ds {
		d.State = DeliveryPending
		if d.CreatedAt.IsZero() {
			d.CreatedAt = now
		}
	}
	for _, r := range rs {
		r.At = now
	}
	if err := m.write(ctx, Change{Deliver: ds, Records: rs}); err != nil {
		return fmt.Errorf("record deliveries: %w", err)
	}
	for _, d := range ds {
		known, err := m.o.Ledger.Delivery(ctx, d.ID)
		if err != nil { // it is on record: who has to make it looks what has become of it
			known = *d
		}
		if known.State == DeliveryPending {
			m.handOver([]*Delivery{&known})
		}
	}
	return nil
}

// Delivered records how far a delivery is, or what became of it: State, Progress,
// Attempts and Error count. It returns once that is durable. A delivery that has
// ended stays as it is.
func (m *ProcessManager) Delivered(ctx context.Context, d Delivery) error {
	if d.State != DeliveryPending && d.EndedAt.IsZero() {
		d.EndedAt = m.o.Now()
	}
	if err := m.write(ctx, Change{Delivered: []*Delivery{&d}}); err != nil {
		return fmt.Errorf("record delivery %s: %w", d.ID, err)
	}
	return nil
}

// PendingDeliveries returns the deliveries that an adapter has to make, in the
// order in which they were recorded.
func (m *ProcessManager) PendingDeliveries(ctx context.Context, adapter string) ([]Delivery, error) {
	return m.o.Ledger.PendingDeliveries(ctx, adapter)
}

// Delivery returns one delivery, or ErrNotFound.
func (m *ProcessManager) Delivery(ctx context.Context, id string) (Delivery, error) {
	return m.o.Ledger.Delivery(ctx, id)
}

// handOver gives deliveries that are on record to their adapters.
func (m *ProcessManager) handOver(ds []*Delivery) {
	for _, d := range ds {
		m.mu.Lock()
		f := m.couriers[d.Adapter]
		m.mu.Unlock()
		if f != nil {
			f(*d)
		}
	}
}

// repliesFor returns the deliveries that outcomes ask for. A message that another
// one carries the reply of needs none if that one is delivered to the same place.
func (v *verdict) repliesFor() []*Delivery {
	var ds []*Delivery
	for _, it := range v.items {
		m := it.msg
		if !m.Deliver || m.Reply.Coalesced && v.delivers(m.Reply.Into, m.Adapter) {
			continue
		}
		ds = append(ds, &Delivery{
			ID: ReplyDelivery(m.ID), Kind: DeliverReply, Adapter: m.Adapter, Channel: m.Channel, Message: m.ID,
			State: DeliveryPending, CreatedAt: m.EndedAt,
		})
	}
	return ds
}

// delivers reports whether the message is one of the verdict's that the adapter
// delivers. All of them are of one channel.
func (v *verdict) delivers(id MessageID, adapter string) bool {
	for _, it := range v.items {
		if it.msg.ID == id {
			return it.msg.Deliver && it.msg.Adapter == adapter
		}
	}
	return false
}

// backgroundDelivery returns the delivery of a background result, or nil where
// nobody delivers those of the channel.
func (m *ProcessManager) backgroundDelivery(b *Background) (*Delivery, error) {
	adapter := m.Deliverer(b.Channel)
	if adapter == "" {
		return nil, nil
	}
	body, err := marshal(BackgroundBody{Text: b.Text, IsError: b.IsError})
	if err != nil {
		return nil, err
	}
	return &Delivery{
		ID: string(DeliverBackground) + ":" + b.ID, Kind: DeliverBackground, Adapter: adapter, Channel: b.Channel, Body: body,
		State: DeliveryPending, CreatedAt: b.CreatedAt,
	}, nil
}

// deliveriesOf returns what is to be delivered about approvals that are new, or that
// are closed now: nothing where nobody delivers to their channel.
func (m *ProcessManager) deliveriesOf(as ...*Approval) []*Delivery {
	var ds []*Delivery
	for _, a := range as {
		adapter := m.Deliverer(a.Channel)
		body, err := marshal(ApprovalBody{ID: a.ID})
		if adapter == "" || err != nil {
			continue
		}
		kind, at := DeliverApproval, a.CreatedAt
		if a.State != ApprovalPending {
			kind, at = DeliverApprovalClosed, a.DecidedAt
		}
		ds = append(ds, &Delivery{
			ID: string(kind) + ":" + a.ID, Kind: kind, Adapter: adapter, Channel: a.Channel, Message: a.Message, Body: body,
			State: DeliveryPending, CreatedAt: at,
		})
	}
	return ds
}

// saveApproval records an approval that is new or that nobody has decided, with what
// is to be delivered about it.
func (l *lane) saveApproval(a *Approval) {
	c := Change{Approvals: []*Approval{a}, Deliver: l.m.deliveriesOf(a)}
	c.Lazy = len(c.Deliver) == 0 // a host lists what it waits for; but deliveries keep their order, which a lazy change does not
	l.save(c, func() { l.m.handOver(c.Deliver) })
}

// Deliverer names the adapter that delivers to the channel what nobody there has asked
// for; empty if there is none.
func (m *ProcessManager) Deliverer(key ChannelKey) string {
	best, adapter := "", ""
	for prefix, name := range m.o.Deliverers {
		if strings.HasPrefix(string(key), prefix) && (adapter == "" || len(prefix) > len(best)) {
			best, adapter = prefix, name
		}
	}
	return adapter
}

// write makes a change durable that no lane is waited for.
func (m *ProcessManager) write(ctx context.Context, c Change) error {
	written := make(chan error, 1)
	m.o.Ledger.Write(c, func(err error) { written <- err })
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
