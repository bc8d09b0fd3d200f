package ledger

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"bareclaw/core"
)

// Deliveries, inbounds and records are the durable state of adapters to remote services.

// outbox compiles the deliveries, inbounds and records of a change.
func (k *compiler) outbox(c *core.Change) {
	for _, d := range c.Deliver {
		k.add(op{stmt: opDeliver, id: d.ID, args: []driver.Value{
			d.ID, d.Adapter, string(d.Channel), nullable(string(d.Message)), string(core.DeliveryPending),
			nanos(d.CreatedAt), int64(0), k.deliveryDoc(d), raw(d.Body), raw(d.Progress),
		}}, len(d.Body)+len(d.Progress))
	}
	for _, d := range c.Delivered {
		k.add(op{stmt: opDelivered, id: d.ID, args: []driver.Value{
			string(d.State), nanos(d.EndedAt), k.deliveryDoc(d), raw(d.Progress), d.ID,
		}}, len(d.Progress))
	}
	for _, i := range c.Inbound {
		k.add(op{stmt: opInbound, id: i.ID, args: []driver.Value{i.ID, i.Adapter, nanos(i.ReceivedAt), raw(i.Body)}}, len(i.Body))
	}
	for _, id := range c.Handled {
		k.add(op{stmt: opHandled, id: id, args: []driver.Value{id}}, 0)
	}
	if !c.ForgetInbound.IsZero() {
		k.add(op{stmt: opForgetInbound, id: c.ForgetInbound.String(), args: []driver.Value{nanos(c.ForgetInbound)}}, 0)
	}
	for _, r := range c.ForgetRecords {
		k.add(op{stmt: opForgetRecords, id: r.Prefix, args: []driver.Value{r.Owner, r.Prefix, after(r.Prefix), nanos(r.Before)}}, 0)
	}
	for _, r := range c.Records {
		if r.Doc == nil {
			k.add(op{stmt: opForgetRecord, id: r.Key, args: []driver.Value{r.Owner, r.Key}}, 0)
			continue
		}
		k.add(op{stmt: opRecord, id: r.Key, args: []driver.Value{r.Owner, r.Key, nanos(r.At), raw(r.Doc)}}, len(r.Doc))
	}
}

func (k *compiler) deliveryDoc(d *core.Delivery) string {
	return k.doc(deliveryDoc{Kind: d.Kind, Attempts: d.Attempts, Error: d.Error})
}

const deliveryColumns = `SELECT id, adapter, channel, coalesce(message,''), state, created_at, ended_at, doc, body, progress FROM deliveries `

func scanDelivery(scan func(...any) error) (core.Delivery, error) {
	var d core.Delivery
	var created, ended int64
	var doc string
	var body, progress []byte
	if err := scan(&d.ID, &d.Adapter, &d.Channel, &d.Message, &d.State, &created, &ended, &doc, &body, &progress); err != nil {
		return d, err
	}
	d.CreatedAt, d.EndedAt, d.Body, d.Progress = fromNanos(created), fromNanos(ended), body, progress
	var o deliveryDoc
	if err := json.Unmarshal([]byte(doc), &o); err != nil {
		return d, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	d.Kind, d.Attempts, d.Error = o.Kind, o.Attempts, o.Error
	return d, nil
}

// PendingDeliveries implements [core.Ledger].
func (l *Ledger) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	return readAll(ctx, l, scanDelivery, "pending deliveries", deliveryColumns+`WHERE state='pending' AND adapter=? ORDER BY seq`, adapter)
}

// MessageDeliveries implements [core.Ledger].
func (l *Ledger) MessageDeliveries(ctx context.Context, id core.MessageID) ([]core.Delivery, error) {
	return readAll(ctx, l, scanDelivery, "deliveries of a message", deliveryColumns+`WHERE message=? ORDER BY seq`, string(id))
}

// Delivery implements [core.Ledger].
func (l *Ledger) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	return readOne(ctx, l, scanDelivery, "delivery "+id, deliveryColumns+`WHERE id=?`, id)
}

const inboundColumns = `SELECT id, adapter, received_at, handled, body FROM inbox `

func scanInbound(scan func(...any) error) (core.Inbound, error) {
	var i core.Inbound
	var received int64
	var body []byte
	err := scan(&i.ID, &i.Adapter, &received, &i.Handled, &body)
	i.ReceivedAt, i.Body = fromNanos(received), body
	return i, err
}

// Unhandled implements [core.Ledger].
func (l *Ledger) Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error) {
	return readAll(ctx, l, scanInbound, "what is not handled", inboundColumns+`WHERE handled=0 AND adapter=? ORDER BY seq`, adapter)
}

// LastInbound implements [core.Ledger].
func (l *Ledger) LastInbound(ctx context.Context, adapter string) (core.Inbound, error) {
	return readOne(ctx, l, scanInbound, "what came in last", inboundColumns+`WHERE adapter=? ORDER BY seq DESC LIMIT 1`, adapter)
}

const recordColumns = `SELECT owner, key, at, doc FROM records `

func scanRecord(scan func(...any) error) (core.Record, error) {
	var r core.Record
	var at int64
	var doc []byte
	err := scan(&r.Owner, &r.Key, &at, &doc)
	r.At, r.Doc = fromNanos(at), doc
	return r, err
}

// Records implements [core.Ledger].
func (l *Ledger) Records(ctx context.Context, owner, prefix string) ([]core.Record, error) {
	if prefix == "" {
		return readAll(ctx, l, scanRecord, "records", recordColumns+`WHERE owner=? ORDER BY key`, owner)
	}
	return readAll(ctx, l, scanRecord, "records", recordColumns+`WHERE owner=? AND key>=? AND key<? ORDER BY key`, owner, prefix, after(prefix))
}

// after returns an upper bound of the keys that begin with prefix.
func after(prefix string) string { return strings.TrimRight(prefix, "\U0010FFFF") + "\U0010FFFF" }

// Record implements [core.Ledger].
func (l *Ledger) Record(ctx context.Context, owner, key string) (core.Record, error) {
	return readOne(ctx, l, scanRecord, "record "+key, recordColumns+`WHERE owner=? AND key=?`, owner, key)
}

// readAll runs a query after all earlier writes have become readable.
func readAll[T any](ctx context.Context, l *Ledger, scan func(func(...any) error) (T, error), what, query string, args ...any) ([]T, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	all, err := list(ctx, l.readers, scan, query, args...)
	return all, l.reading(err, "%s", what)
}

// readOne is readAll for one row; the error is core.ErrNotFound for an empty result.
func readOne[T any](ctx context.Context, l *Ledger, scan func(func(...any) error) (T, error), what, query string, args ...any) (T, error) {
	if err := l.settled(ctx); err != nil {
		var zero T
		return zero, err
	}
	v, err := one(ctx, l.readers, scan, query, args...)
	return v, l.reading(err, "%s", what)
}
