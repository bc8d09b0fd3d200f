package lanes

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core"
)

// OnDelivery has f called with every new delivery for the adapter once it is on
// record. f must not block; it is called from several goroutines. What was pending
// before is found with PendingDeliveries after this call: some of it may come
// both ways, and some may have been made already.
func (m *Manager) OnDelivery(adapter string, f func(core.Delivery)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deliveryHandlers == nil {
		m.deliveryHandlers = map[string]func(core.Delivery){}
	}
	m.deliveryHandlers[adapter] = f
}

// Deliver puts deliveries on record and hands them to their adapters. It returns
// once they are durable. Those whose id is known are ignored, but those of them that
// are still pending are handed over as well.
func (m *Manager) Deliver(ctx context.Context, ds ...*core.Delivery) error {
	return m.DeliverWithRecords(ctx, nil, ds...)
}

// DeliverWithRecords does what Deliver and PutRecords do, as one change: either both are
// durable or neither.
func (m *Manager) DeliverWithRecords(ctx context.Context, rs []*core.Record, ds ...*core.Delivery) error {
	now := m.o.Now()
	for _, d := range ds {
		d.State = core.DeliveryPending
		if d.CreatedAt.IsZero() {
			d.CreatedAt = now
		}
	}
	for _, r := range rs {
		r.At = now
	}
	if err := m.write(ctx, core.Change{Deliver: ds, Records: rs}); err != nil {
		return fmt.Errorf("record deliveries: %w", err)
	}
	for _, d := range ds {
		known, err := m.o.Ledger.Delivery(ctx, d.ID)
		if err != nil { // it is on record: who has to make it looks what has become of it
			known = *d
		}
		if known.State == core.DeliveryPending {
			m.notifyDeliveryHandlers([]*core.Delivery{&known})
		}
	}
	return nil
}

// Delivered records how far a delivery is, or what became of it: State, Progress,
// Attempts and Error count. It returns once that is durable. A delivery that has
// ended stays as it is.
func (m *Manager) Delivered(ctx context.Context, d core.Delivery) error {
	if d.State != core.DeliveryPending && d.EndedAt.IsZero() {
		d.EndedAt = m.o.Now()
	}
	if err := m.write(ctx, core.Change{Delivered: []*core.Delivery{&d}}); err != nil {
		return fmt.Errorf("record delivery %s: %w", d.ID, err)
	}
	return nil
}

// PendingDeliveries returns the deliveries that an adapter has to make, in the
// order in which they were recorded.
func (m *Manager) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	return m.o.Ledger.PendingDeliveries(ctx, adapter)
}

// Delivery returns one delivery, or ErrNotFound.
func (m *Manager) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	return m.o.Ledger.Delivery(ctx, id)
}

// handOver gives deliveries that are on record to their adapters.
func (m *Manager) notifyDeliveryHandlers(ds []*core.Delivery) {
	for _, d := range ds {
		m.mu.Lock()
		f := m.deliveryHandlers[d.Adapter]
		m.mu.Unlock()
		if f != nil {
			f(*d)
		}
	}
}

// repliesFor returns the deliveries that outcomes ask for. A message that another
// one carries the reply of needs none if that one is delivered to the same place.
func (v *outcomes) repliesFor() []*core.Delivery {
	var ds []*core.Delivery
	for _, it := range v.items {
		m := it.msg
		if !m.Deliver || m.Reply.Coalesced && v.delivers(m.Reply.Into, m.Adapter) {
			continue
		}
		ds = append(ds, &core.Delivery{
			ID: core.ReplyDelivery(m.ID), Kind: core.DeliverReply, Adapter: m.Adapter, Channel: m.Channel, Message: m.ID,
			State: core.DeliveryPending, CreatedAt: m.EndedAt,
		})
	}
	return ds
}

// delivers reports whether the message is one of the verdict's that the adapter
// delivers. All of them are of one channel.
func (v *outcomes) delivers(id core.MessageID, adapter string) bool {
	for _, it := range v.items {
		if it.msg.ID == id {
			return it.msg.Deliver && it.msg.Adapter == adapter
		}
	}
	return false
}

// backgroundDelivery returns the delivery of a background result, or nil where
// nobody delivers those of the channel.
func (m *Manager) backgroundDelivery(b *core.Background) (*core.Delivery, error) {
	adapter := m.Deliverer(b.Channel)
	if adapter == "" {
		return nil, nil
	}
	body, err := core.EncodeJSON(core.BackgroundBody{Text: b.Text, IsError: b.IsError})
	if err != nil {
		return nil, err
	}
	return &core.Delivery{
		ID: string(core.DeliverBackground) + ":" + b.ID, Kind: core.DeliverBackground, Adapter: adapter, Channel: b.Channel, Body: body,
		State: core.DeliveryPending, CreatedAt: b.CreatedAt,
	}, nil
}

// deliveriesOf returns what is to be delivered about approvals that are new, or that
// are closed now: nothing where nobody delivers to their channel.
func (m *Manager) deliveriesOf(as ...*core.Approval) []*core.Delivery {
	var ds []*core.Delivery
	for _, a := range as {
		adapter := m.Deliverer(a.Channel)
		body, err := core.EncodeJSON(core.ApprovalBody{ID: a.ID})
		if adapter == "" || err != nil {
			continue
		}
		kind, at := core.DeliverApproval, a.CreatedAt
		if a.State != core.ApprovalPending {
			kind, at = core.DeliverApprovalClosed, a.DecidedAt
		}
		ds = append(ds, &core.Delivery{
			ID: string(kind) + ":" + a.ID, Kind: kind, Adapter: adapter, Channel: a.Channel, Message: a.Message, Body: body,
			State: core.DeliveryPending, CreatedAt: at,
		})
	}
	return ds
}

// saveApproval records an approval that is new or that nobody has decided, with what
// is to be delivered about it.
func (l *lane) saveApproval(a *core.Approval) {
	c := core.Change{Approvals: []*core.Approval{a}, Deliver: l.manager.deliveriesOf(a)}
	c.Lazy = len(c.Deliver) == 0 // a host lists what it waits for; but deliveries keep their order, which a lazy change does not
	l.save(c, func() { l.manager.notifyDeliveryHandlers(c.Deliver) })
}

// Deliverer names the adapter that delivers to the channel what nobody there has asked
// for; empty if there is none.
func (m *Manager) Deliverer(key core.ChannelKey) string {
	best, adapter := "", ""
	for prefix, name := range m.o.Deliverers {
		if strings.HasPrefix(string(key), prefix) && (adapter == "" || len(prefix) > len(best)) {
			best, adapter = prefix, name
		}
	}
	return adapter
}

// write makes a change durable that no lane is waited for.
func (m *Manager) write(ctx context.Context, c core.Change) error {
	written := make(chan error, 1)
	m.o.Ledger.Write(c, func(err error) { written <- err })
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
