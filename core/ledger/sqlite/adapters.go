package sqlite

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core"
)

var (
	stmtDeliver = newStatement("record delivery",
		`INSERT INTO deliveries(id, adapter, channel, message, state, created_at, ended_at, doc, body, progress)
		VALUES(?,?,?,?,'pending',?,0,?,?,?) ON CONFLICT(id) DO NOTHING`)
	stmtRedeliver = newStatement("record delivery",
		`INSERT INTO deliveries(id, adapter, channel, message, state, created_at, ended_at, doc, body)
		VALUES(?,?,?,?,'pending',?,0,?,?) ON CONFLICT(id) DO UPDATE SET adapter=excluded.adapter, channel=excluded.channel,
		message=excluded.message, state=excluded.state, created_at=excluded.created_at, ended_at=0, doc=excluded.doc, body=excluded.body
		WHERE state='failed' AND progress IS NULL`)
	stmtDelivered     = newStatement("record delivery", `UPDATE deliveries SET state=?, ended_at=?, doc=?, progress=? WHERE id=? AND state='pending'`)
	stmtInbound       = newStatement("record inbound", `INSERT INTO inbox(id, adapter, received_at, handled, body) VALUES(?,?,?,0,?) ON CONFLICT(id) DO NOTHING`)
	stmtHandled       = newStatement("record inbound", `UPDATE inbox SET handled=1, body=NULL WHERE id=?`)
	stmtForgetInbound = newStatement("forget inbounds before", `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox ORDER BY seq LIMIT 100)
		AND handled=1 AND received_at<?`)
	stmtRecord = newStatement("keep record", `INSERT INTO records(owner, key, at, doc) VALUES(?,?,?,?)
		ON CONFLICT(owner, key) DO UPDATE SET at=excluded.at, doc=excluded.doc`)
	stmtForgetRecord  = newStatement("forget record", `DELETE FROM records WHERE owner=? AND key=?`)
	stmtForgetRecords = newStatement("forget records", `DELETE FROM records WHERE owner=? AND key>=? AND key<? AND at<?`)
)

func putDeliveries(k *compiler, c *core.Change) {
	doc := func(d *core.Delivery) string {
		return k.doc(core.Delivery{Kind: d.Kind, Attempts: d.Attempts, Error: d.Error})
	}
	for _, d := range c.Deliver {
		message := nullable(string(d.Message))
		k.add(stmtDeliver, d.ID, d.ID, d.Adapter, string(d.Channel), message, nanos(d.CreatedAt), doc(d), raw(d.Body), raw(d.Progress))
	}
	for _, d := range c.Redeliver {
		message := nullable(string(d.Message))
		k.add(stmtRedeliver, d.ID, d.ID, d.Adapter, string(d.Channel), message, nanos(d.CreatedAt), doc(d), raw(d.Body))
	}
	for _, d := range c.Delivered {
		k.add(stmtDelivered, d.ID, string(d.State), nanos(d.EndedAt), doc(d), raw(d.Progress), d.ID)
	}
}

func putInbounds(k *compiler, c *core.Change) {
	for _, i := range c.Inbound {
		k.add(stmtInbound, i.ID, i.ID, i.Adapter, nanos(i.ReceivedAt), raw(i.Body))
	}
	for _, id := range c.Handled {
		k.add(stmtHandled, id, id)
	}
	if !c.ForgetInbound.IsZero() {
		k.add(stmtForgetInbound, c.ForgetInbound.String(), nanos(c.ForgetInbound))
	}
}

func putRecords(k *compiler, c *core.Change) {
	for _, r := range c.ForgetRecords {
		k.add(stmtForgetRecords, r.Prefix, r.Owner, r.Prefix, after(r.Prefix), nanos(r.Before))
	}
	for _, r := range c.Records {
		if r.Doc == nil {
			k.add(stmtForgetRecord, r.Key, r.Owner, r.Key)
			continue
		}
		k.add(stmtRecord, r.Key, r.Owner, r.Key, nanos(r.At), raw(r.Doc))
	}
}

// adapters reads the state of adapters and implements [core.DeliveryReader] and
// [core.AdapterReader].
type adapters struct{ reader *reader }

const deliveryColumns = `SELECT id, adapter, channel, coalesce(message,''), state, created_at, ended_at, doc, body, progress FROM deliveries `

func scanDelivery(scan scanFunc) (d core.Delivery, err error) {
	err = scan(&d.ID, &d.Adapter, &d.Channel, &d.Message, &d.State, at(&d.CreatedAt), at(&d.EndedAt), storedDoc{&d}, bytesOf(&d.Body), bytesOf(&d.Progress))
	if err != nil {
		err = fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	return d, err
}

// PendingDeliveries implements [core.DeliveryReader].
func (l adapters) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	return readAll(ctx, l.reader, "pending deliveries", scanDelivery, deliveryColumns+`WHERE state='pending' AND adapter=? ORDER BY seq`, adapter)
}

// MessageDeliveries implements [core.DeliveryReader].
func (l adapters) MessageDeliveries(ctx context.Context, id core.MessageID) ([]core.Delivery, error) {
	return readAll(ctx, l.reader, "deliveries of message "+string(id), scanDelivery, deliveryColumns+`WHERE message=? ORDER BY seq`, string(id))
}

// Delivery implements [core.DeliveryReader].
func (l adapters) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	return readOne(ctx, l.reader, "delivery "+id, scanDelivery, deliveryColumns+`WHERE id=?`, id)
}

const inboundColumns = `SELECT id, adapter, received_at, handled, body FROM inbox `

func scanInbound(scan scanFunc) (i core.Inbound, err error) {
	err = scan(&i.ID, &i.Adapter, at(&i.ReceivedAt), &i.Handled, bytesOf(&i.Body))
	return i, err
}

// Unhandled implements [core.AdapterReader].
func (l adapters) Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error) {
	return readAll(ctx, l.reader, "unhandled inbounds", scanInbound, inboundColumns+`WHERE handled=0 AND adapter=? ORDER BY seq`, adapter)
}

// LastInbound implements [core.AdapterReader].
func (l adapters) LastInbound(ctx context.Context, adapter string) (core.Inbound, error) {
	return readOne(ctx, l.reader, "the last inbound", scanInbound, inboundColumns+`WHERE adapter=? ORDER BY seq DESC LIMIT 1`, adapter)
}

const recordColumns = `SELECT owner, key, at, doc FROM records `

func scanRecord(scan scanFunc) (r core.Record, err error) {
	err = scan(&r.Owner, &r.Key, at(&r.At), bytesOf(&r.Doc))
	return r, err
}

// Records implements [core.AdapterReader].
func (l adapters) Records(ctx context.Context, owner, prefix string) ([]core.Record, error) {
	return readAll(ctx, l.reader, "records", scanRecord, recordColumns+`WHERE owner=? AND key>=? AND key<? ORDER BY key`, owner, prefix, after(prefix))
}

// after returns an upper bound of the keys that begin with prefix.
func after(prefix string) string { return strings.TrimRight(prefix, "\U0010FFFF") + "\U0010FFFF" }

// Record implements [core.AdapterReader].
func (l adapters) Record(ctx context.Context, owner, key string) (core.Record, error) {
	return readOne(ctx, l.reader, "record "+key, scanRecord, recordColumns+`WHERE owner=? AND key=?`, owner, key)
}
