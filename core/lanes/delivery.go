package lanes

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core"
)

// OnDelivery registers f to be called with every new delivery for the adapter once recorded.
// f must not block; several goroutines call f. After OnDelivery, read the earlier pending
// deliveries with PendingDeliveries: a delivery may arrive both ways, and may have been made
// already.
func (m *Manager) OnDelivery(adapter string, f func(core.Delivery)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deliveryHandlers == nil {
		m.deliveryHandlers = map[string]func(core.Delivery){}
	}
	m.deliveryHandlers[adapter] = f
}

// Deliver records deliveries and hands them to the adapters. Deliver returns once the
// deliveries are durable. Deliveries with a known id are not recorded again, but are handed
// over again while still pending.
func (m *Manager) Deliver(ctx context.Context, ds ...*core.Delivery) error {
	return m.DeliverWithRecords(ctx, nil, ds...)
}

// DeliverWithRecords does the work of Deliver and PutRecords in one change: both become
// durable, or neither.
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
		if err != nil { // the delivery is recorded, and the adapter checks the present state
			known = *d
		}
		if known.State == core.DeliveryPending {
			m.notifyDeliveryHandlers([]*core.Delivery{&known})
		}
	}
	return nil
}

// Delivered records the State, Progress, Attempts and Error of a pending or just ended
// delivery, and returns once the change is durable. A delivery recorded as ended stays
// unchanged.
func (m *Manager) Delivered(ctx context.Context, d core.Delivery) error {
	if d.State != core.DeliveryPending && d.EndedAt.IsZero() {
		d.EndedAt = m.o.Now()
	}
	if err := m.write(ctx, core.Change{Delivered: []*core.Delivery{&d}}); err != nil {
		return fmt.Errorf("record delivery %s: %w", d.ID, err)
	}
	return nil
}

// PendingDeliveries returns the adapter's pending deliveries, in the order of recording.
func (m *Manager) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	return m.o.Ledger.PendingDeliveries(ctx, adapter)
}

// Delivery returns one delivery, or ErrNotFound.
func (m *Manager) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	return m.o.Ledger.Delivery(ctx, id)
}

// notifyDeliveryHandlers passes recorded deliveries to the adapters' handlers.
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

// repliesFor returns the deliveries required by the outcomes. A coalesced message needs no
// delivery if the carrier's reply is delivered to the same place.
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

// delivers reports whether the outcomes contain the message and the adapter delivers the
// reply. All messages of the outcomes are of the same channel.
func (v *outcomes) delivers(id core.MessageID, adapter string) bool {
	for _, it := range v.items {
		if it.msg.ID == id {
			return it.msg.Deliver && it.msg.Adapter == adapter
		}
	}
	return false
}

// backgroundDelivery returns the delivery of a background result, or nil for a channel
// without a delivering adapter.
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

// deliveriesOf returns the deliveries for new or just closed approvals, omitting channels
// without a delivering adapter.
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

// saveApproval records a new approval, or an approval closed without a decision, with the
// resulting deliveries.
func (l *lane) saveApproval(a *core.Approval) {
	c := core.Change{Approvals: []*core.Approval{a}, Deliver: l.manager.deliveriesOf(a)}
	c.Lazy = len(c.Deliver) == 0 // the host lists open requests, so a lazy write is safe; but lazy changes do not keep the order of deliveries
	l.save(c, func() { l.manager.notifyDeliveryHandlers(c.Deliver) })
}

// Deliverer returns the adapter delivering unrequested output, such as background results,
// to the channel; empty without such an adapter.
func (m *Manager) Deliverer(key core.ChannelKey) string {
	best, adapter := "", ""
	for prefix, name := range m.o.Deliverers {
		if strings.HasPrefix(string(key), prefix) && (adapter == "" || len(prefix) > len(best)) {
			best, adapter = prefix, name
		}
	}
	return adapter
}

// write makes a change durable without involving a lane.
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
