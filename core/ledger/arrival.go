package ledger

import (
	"database/sql/driver"
	"fmt"

	"bareclaw/core"
)

// A caller usually waits for the recording of a new message and of the message's turn.
// The writer therefore records an accepted message first as one row of arrivals, a small
// table without secondary indexes: a sync then covers one or two pages instead of the
// eight of the final tables.
//
// The writer posts arrivals to the final tables together, as an accountant posts the
// journal to the ledger: in the transaction of the next change of another kind, before a
// read, or when the writer is idle. After a crash, Open finds the arrivals of the
// previous process.

// maxArrivals bounds the arrivals that wait to be posted; posting takes about 10 µs
// each.
const maxArrivals = 1024

// arrive compiles a change that only records one small new message without a source key,
// alone or as the only member of a turn that opens no session. For every other change ok
// is false. A message with a source key may be a duplicate, and only the full path
// detects duplicates.
func arrive(c *core.Change) (k *compiler, ok bool) {
	if len(c.Accept) != 1 || len(c.Begin) > 1 || len(c.Update)+len(c.Requeue)+len(c.Settle)+len(c.End)+len(c.Approvals)+len(c.Background)+
		len(c.Deliver)+len(c.Delivered)+len(c.Inbound)+len(c.Handled)+len(c.Records)+len(c.ForgetRecords)+
		len(c.Settings)+len(c.Amend)+len(c.Reorder) > 0 {
		return nil, false
	}
	m, t := c.Accept[0], (*core.Turn)(nil)
	if len(c.Begin) == 1 {
		t = c.Begin[0]
	}
	if m.SourceKey != "" || t != nil && (t.Opens || len(t.Members) != 1 || t.Members[0] != m.ID) {
		return nil, false
	}
	k = &compiler{}
	content, doc := k.message(m)
	if len(content) >= bodyBytes || t != nil && len(t.Line) >= bodyBytes {
		return nil, false // large text would be written twice
	}
	args := make([]driver.Value, 11)
	args[0], args[2], args[3], args[4], args[5] = string(m.ID), string(m.Channel), nanos(m.ReceivedAt), doc, content
	if t != nil {
		args[6], args[7], args[8], args[9], args[10] = string(t.ID), t.SessionID, nanos(t.BegunAt), k.turnDoc(t), string(t.Line)
	}
	k.add(op{stmt: opArrive, id: string(m.ID), args: args}, len(content)+len(doc))
	return k, true
}

// countArrivals counts the arrivals that the previous process did not post.
func (w *writer) countArrivals() error {
	row, _, err := w.conn.row(stmtCountArrivals)
	if err != nil {
		return fmt.Errorf("count arrivals: %w", err)
	}
	w.kept, _ = row[0].(int64)
	w.queue.unposted.Store(w.kept > 0)
	return nil
}

// isArrival reports whether arrive compiled the entry.
func (e *entry) isArrival() bool { return len(e.ops) == 1 && e.ops[0].stmt == opArrive }

// arrive inserts an arrival in the open transaction.
func (w *writer) arrive(e *entry) error {
	o := &e.ops[0]
	o.args[1] = w.arrived
	if _, err := w.conn.apply(o, &w.counters); err != nil {
		return err
	}
	w.arrived++
	w.applied++
	return nil
}

// post moves the arrivals into the tables, in the open transaction.
func (w *writer) post() error {
	if w.arrived == 0 {
		return nil
	}
	messages, err := w.conn.exec(stmtPostMessages)
	if err == nil {
		_, err = w.conn.exec(stmtPostTurns)
	}
	if err == nil {
		_, err = w.conn.exec(stmtPosted)
	}
	if err != nil {
		return fmt.Errorf("post arrivals: %w", err)
	}
	w.counters.accepted += messages
	w.arrived = 0
	return nil
}
