// Package adapterstore keeps the records of adapters in the ledger: items received from a
// remote place, deliveries to a remote place, and documents in an adapter's own format.
//
// A [Store] hands each new delivery to the adapter, once the delivery is durable. The
// deliveries themselves come from lanes (see [Store.ForChange]) and from adapters.
package adapterstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/guard"
	"bareclaw/internal/plainjson"
)

// inboundKept is how long handled items stay recorded. No remote service may deliver an item
// again after inboundKept.
const inboundKept = 72 * time.Hour

// A Store records what adapters receive, deliver and keep. All methods are safe for
// concurrent use.
type Store struct {
	core.DeliveryReader
	core.AdapterReader

	ledger     core.Writer
	deliverers map[string]string // adapters delivering to the channels with a key prefix
	now        func() time.Time
	log        *slog.Logger

	mu        sync.Mutex // guards the consumers and their fields
	consumers map[string]*consumer
}

// A consumer takes the deliveries of an adapter.
type consumer struct {
	take    func(core.Delivery)
	reading bool            // the pending deliveries are not taken yet
	newer   []core.Delivery // recorded meanwhile
}

// New returns a store in the ledger. The map deliverers names the adapter that delivers
// unrequested output to the channels with a key prefix.
func New(ledger core.Ledger, deliverers map[string]string, now func() time.Time, log *slog.Logger) *Store {
	return &Store{
		DeliveryReader: ledger,
		AdapterReader:  ledger,
		ledger:         ledger,
		deliverers:     deliverers,
		now:            now,
		log:            log,
		consumers:      map[string]*consumer{},
	}
}

// Consume calls take with the adapter's pending deliveries, oldest first, and from then on
// with each delivery once recorded: newer deliveries follow the pending ones. take may get a
// delivery again, or one that was made already. take is never called twice at once, and must
// neither block nor call the Store. After a panic of take the delivery stays pending.
func (s *Store) Consume(ctx context.Context, adapter string, take func(core.Delivery)) error {
	c := &consumer{take: take, reading: true}
	s.mu.Lock()
	s.consumers[adapter] = c
	s.mu.Unlock()
	pending, err := s.PendingDeliveries(ctx, adapter) // may wait for the goroutine that calls HandOver
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string]bool{} // a delivery may be among the pending and the newer ones
	for _, d := range append(pending, c.newer...) {
		if !taken[d.ID] {
			taken[d.ID] = true
			s.pass(c, d)
		}
	}
	c.reading, c.newer = false, nil
	return err
}

// HandOver passes recorded deliveries to the adapters.
func (s *Store) HandOver(ds []*core.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range ds {
		switch c := s.consumers[d.Adapter]; {
		case c == nil:
		case c.reading:
			c.newer = append(c.newer, *d)
		default:
			s.pass(c, *d)
		}
	}
}

// pass survives a panic of an adapter: the goroutine may be the ledger's.
func (s *Store) pass(c *consumer, d core.Delivery) {
	_ = guard.Do(s.log, "handing a delivery to its adapter", func() error {
		c.take(d)
		return nil
	}, "delivery", d.ID)
}

// Deliver records a delivery together with records, and hands the delivery to the adapter.
// Deliver returns once all are durable. A delivery with a known id is not recorded again, but
// is handed over again while still pending.
func (s *Store) Deliver(ctx context.Context, d *core.Delivery, rs ...*core.Record) error {
	return s.deliver(ctx, d, core.Change{Deliver: []*core.Delivery{d}, Records: rs})
}

// Redeliver is Deliver for a delivery that may have failed before: if nothing of it was sent, as
// its Progress tells, it is recorded anew.
func (s *Store) Redeliver(ctx context.Context, d *core.Delivery) error {
	return s.deliver(ctx, d, core.Change{Redeliver: []*core.Delivery{d}})
}

func (s *Store) deliver(ctx context.Context, d *core.Delivery, c core.Change) error {
	d.State = core.DeliveryPending
	if d.CreatedAt.IsZero() {
		d.CreatedAt = s.now()
	}
	if err := s.write(ctx, "record a delivery", c); err != nil {
		return err
	}
	known, err := s.Delivery(ctx, d.ID)
	if err != nil { // the delivery is recorded, and the adapter checks the present state
		known = *d
	}
	if known.State == core.DeliveryPending {
		s.HandOver([]*core.Delivery{&known})
	}
	return nil
}

// Delivered records the State, Progress, Attempts and Error of a pending or just ended
// delivery, and returns once the change is durable. A delivery recorded as ended stays
// unchanged.
func (s *Store) Delivered(ctx context.Context, d core.Delivery) error {
	if d.State != core.DeliveryPending && d.EndedAt.IsZero() {
		d.EndedAt = s.now()
	}
	return s.write(ctx, "record delivery "+d.ID, core.Change{Delivered: []*core.Delivery{&d}})
}

// Deliverer returns the adapter delivering unrequested output, such as background results,
// to the channel; empty without such an adapter.
func (s *Store) Deliverer(key core.ChannelKey) string {
	adapter, _ := core.ByPrefix(s.deliverers, key)
	return adapter
}

// ForChange returns the deliveries for the approvals and background results of a change,
// omitting channels without a delivering adapter.
func (s *Store) ForChange(c *core.Change) (ds []*core.Delivery) {
	add := func(kind core.DeliveryKind, id string, key core.ChannelKey, message core.MessageID, body any, at time.Time) {
		adapter := s.Deliverer(key)
		encoded, err := plainjson.Marshal(body)
		if adapter != "" && err == nil { // strings always encode
			ds = append(ds, &core.Delivery{
				ID:        string(kind) + ":" + id,
				Kind:      kind,
				Adapter:   adapter,
				Channel:   key,
				Message:   message,
				Body:      encoded,
				State:     core.DeliveryPending,
				CreatedAt: at,
			})
		}
	}
	for _, b := range c.Background {
		if b.Text == "" { // only counted
			continue
		}
		add(core.DeliverBackground, b.ID, b.Channel, "", core.BackgroundBody{Text: b.Text, IsError: b.IsError}, b.CreatedAt)
	}
	for _, a := range c.Approvals {
		kind, at := core.DeliverApproval, a.CreatedAt
		if a.State != core.ApprovalPending {
			kind, at = core.DeliverApprovalClosed, a.DecidedAt
		}
		add(kind, a.ID, a.Channel, a.Message, core.ApprovalBody{ID: a.ID}, at)
	}
	return ds
}

// Receive records inbound items, and forgets items handled more than inboundKept ago.
// Receive returns once the change is durable.
func (s *Store) Receive(ctx context.Context, in []*core.Inbound) error {
	now := s.now()
	for _, i := range in {
		if i.ReceivedAt.IsZero() {
			i.ReceivedAt = now
		}
	}
	return s.write(ctx, "record what came in", core.Change{Inbound: in, ForgetInbound: now.Add(-inboundKept)})
}

// Handled marks inbound items as completely handled. Handled returns once the change is
// durable.
func (s *Store) Handled(ctx context.Context, ids ...string) error {
	return s.write(ctx, "record what was handled", core.Change{Handled: ids})
}

// PutRecords writes records, replacing records with the same owner and key; a record without
// a Doc removes the existing record. PutRecords sets At, and returns once the records are
// durable.
func (s *Store) PutRecords(ctx context.Context, rs ...*core.Record) error {
	return s.write(ctx, "keep records", core.Change{Records: rs})
}

// ForgetRecords removes records, and returns once the removal is durable.
func (s *Store) ForgetRecords(ctx context.Context, rs ...core.RecordRange) error {
	return s.write(ctx, "forget records", core.Change{ForgetRecords: rs})
}

func (s *Store) write(ctx context.Context, what string, c core.Change) error {
	for _, r := range c.Records {
		r.At = s.now()
	}
	if err := core.WriteAndWait(ctx, s.ledger, c, nil); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
