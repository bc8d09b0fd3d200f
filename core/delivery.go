package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A Delivery is something that an adapter has to bring to a place that may not
// take it at once, or that cannot be asked whether it has: it is on record before
// it is tried, and stays pending until the adapter says what became of it.
type Delivery struct {
	ID      string // unique: a second one with the same id is ignored
	Kind    DeliveryKind
	Adapter string
	Channel ChannelKey
	Message MessageID       // the message whose trace shows it; may be empty
	Body    json.RawMessage // the adapter's own; of a background result its text and whether it is an error

	State     DeliveryState
	Progress  json.RawMessage // the adapter's own: how far it is, such as the remote ids of parts
	Attempts  int             // failed ones
	Error     string          // why the last attempt failed, or why there is none any more
	CreatedAt time.Time
	EndedAt   time.Time // zero while it is pending
}

// DeliveryKind says what is delivered. Adapters have kinds of their own besides
// these.
type DeliveryKind string

// The deliveries that the core makes.
const (
	DeliverReply      DeliveryKind = "reply"      // the outcome of Message
	DeliverBackground DeliveryKind = "background" // Body is a BackgroundBody
)

// A BackgroundBody is the body of a delivered background result.
type BackgroundBody struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// DeliveryState says where a delivery is; all but pending are final.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending"
	DeliverySent    DeliveryState = "sent"
	DeliveryFailed  DeliveryState = "failed" // for good: it is not tried again
)

// ReplyDelivery returns the id of the delivery of a message's outcome.
func ReplyDelivery(id MessageID) string { return string(DeliverReply) + ":" + string(id) }

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
