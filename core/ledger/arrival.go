package ledger

import (
	"fmt"
	"reflect"

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

var (
	stmtArrive = newStatement("accept message", `INSERT INTO arrivals(id, seq, channel, received_at, doc, content, turn, session, begun_at, turn_doc, line)
		SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11
		WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id=?1) AND NOT EXISTS (SELECT 1 FROM turns WHERE id=?7)`)
	stmtPostMessages = newStatement("", `INSERT INTO messages(id, channel, received_at, state, turn, dispatched_at, doc, content)
		SELECT id, channel, received_at, turn IS NOT NULL, turn, coalesce(begun_at,0), doc, content FROM arrivals ORDER BY seq`)
	stmtPostTurns = newStatement("", `INSERT INTO turns(id, session, begun_at, doc, line)
		SELECT turn, session, begun_at, turn_doc, line FROM arrivals WHERE turn IS NOT NULL ORDER BY seq
		ON CONFLICT(id) DO NOTHING`)
	stmtPosted        = newStatement("", `DELETE FROM arrivals`)
	stmtCountArrivals = newStatement("", `SELECT count(*) FROM arrivals`)
)

// arrive compiles a change that only records one small new message without a source key,
// alone or as the only member of a turn that opens no session. For every other change ok
// is false. A message with a source key may be a duplicate, and only the full path
// detects duplicates.
func arrive(c *core.Change) (k *compiler, ok bool) {
	rest := *c
	rest.Accept, rest.Begin, rest.Lazy = nil, nil, false
	if len(c.Accept) != 1 || len(c.Begin) > 1 || !reflect.ValueOf(&rest).Elem().IsZero() {
		return nil, false
	}
	m := c.Accept[0]
	turn := make([]any, 5)
	k = &compiler{}
	if len(c.Begin) == 1 {
		t := c.Begin[0]
		if t.Opens || len(t.Members) != 1 || t.Members[0] != m.ID || len(t.Line) >= bodyBytes {
			return nil, false
		}
		turn = []any{string(t.ID), t.SessionID, nanos(t.BegunAt), turnDoc(k, t), string(t.Line)}
	}
	content, doc := encodeMessage(k, m)
	if m.SourceKey != "" || len(content) >= bodyBytes { // large text would be written twice
		return nil, false
	}
	args := append([]any{string(m.ID), nil, string(m.Channel), nanos(m.ReceivedAt), doc, content}, turn...)
	k.add(stmtArrive, string(m.ID), args...)
	return k, true
}

// countArrivals counts the arrivals that the previous process did not post.
func (w *writer) countArrivals() error {
	if err := w.conn.row(stmtCountArrivals).Scan(&w.kept); err != nil {
		return fmt.Errorf("count arrivals: %w", err)
	}
	w.queue.unposted.Store(w.kept > 0)
	return nil
}

// isArrival reports whether arrive compiled the entry.
func (e *entry) isArrival() bool { return len(e.ops) == 1 && e.ops[0].stmt == stmtArrive }

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
	w.counters[0] += messages
	w.arrived = 0
	return nil
}
