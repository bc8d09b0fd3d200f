package sqlite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"bareclaw/core"
)

// An op is one step of a change: a statement with its arguments. The goroutine that calls
// Write builds the ops, so the writer only executes statements, and callers may change
// their records afterwards.
type op struct {
	stmt *statement
	args []any
	id   string // subject of the statement, for errors
	paid []any  // arguments of stmtSpend, which runs if the op changes a row; nil for none
}

// paid returns the arguments of stmtSpend for an amount on the day of at. A change written
// again after a crash changes no row, and is therefore charged once.
func paid(at time.Time, usd float64) []any {
	if usd <= 0 {
		return nil
	}
	return []any{core.Day(at), usd}
}

// A compiler collects the ops of one change.
type compiler struct {
	ops   []op
	bytes int   // approximate size of the arguments
	err   error // the change cannot be written
}

// kinds compile the kinds of records of a change, in order of execution. Statements that may be
// refused as duplicates come first, because a refusal then leaves nothing to undo.
var kinds = []func(*compiler, *core.Change){
	acceptMessages,
	beginTurns,
	updateTurns,
	requeueMessages,
	settleMessages,
	endTurns,
	putApprovals,
	addBackgrounds,
	putDeliveries,
	putInbounds,
	putRecords,
	amendMessages,
	reorderMessages,
	changeSettings,
	forgetChannels,
}

// compile turns a change into statements.
func compile(c *core.Change) *compiler {
	if k, ok := arrive(c); ok {
		return k
	}
	k := &compiler{ops: make([]op, 0, len(c.Accept)+2*len(c.Begin)+len(c.Settle)+2*len(c.End)+2)}
	for _, put := range kinds {
		put(k, c)
	}
	return k
}

// add adds a statement and returns the op until the next call.
func (k *compiler) add(s *statement, id string, args ...any) *op {
	for _, a := range args {
		if text, ok := a.(string); ok {
			k.bytes += len(text)
		}
	}
	k.ops = append(k.ops, op{stmt: s, id: id, args: args})
	return &k.ops[len(k.ops)-1]
}

func (k *compiler) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// doc encodes v as JSON. JSON documents hold the fields of a record that no query needs.
// Fields may be added; a missing field has the zero value.
func (k *compiler) doc(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		k.fail(fmt.Errorf("encode for the ledger: %w", err))
	}
	return string(b)
}

// bodyBytes is the size from which a text is stored in bodies instead of the row. SQLite
// copies a whole row when the message begins and when the message ends; half a page
// costs about nothing to copy.
const bodyBytes = 2 << 10

// The kinds of bodies.
const (
	bodyContent int64 = iota
	bodyLine
)

var (
	stmtBody   = newStatement("store the body of", `INSERT INTO bodies(kind, owner, data) VALUES(?,?,?)`)
	stmtNoBody = newStatement("remove the body of", `DELETE FROM bodies WHERE kind=? AND owner=?`)
)

// inline returns the row's value of a text, nil for a text stored by body.
func inline(text string) any {
	if len(text) < bodyBytes {
		return text
	}
	return nil
}

// body stores a text too large for the row.
func (k *compiler) body(kind int64, owner, text string) {
	if len(text) >= bodyBytes {
		k.add(stmtBody, owner, kind, owner, text)
	}
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func raw(b json.RawMessage) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// nanos returns the stored form of a time, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

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
		WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id=?1) AND NOT EXISTS (SELECT 1 FROM turns WHERE id=?7)`).orElse(alreadyRecorded)
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
	rest.Accept = nil
	rest.Begin = nil
	rest.Lazy = false
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

func (w *writer) countArrivals() error {
	if err := w.conn.row(stmtCountArrivals).Scan(&w.kept); err != nil {
		return fmt.Errorf("count arrivals: %w", err)
	}
	w.queue.unposted.Store(w.kept > 0)
	return nil
}

// alreadyRecorded is the error for an arrival whose message or turn is known.
func alreadyRecorded(_ *writeConn, o *op) error {
	return fmt.Errorf("%s %s: the message or its turn is recorded already", o.stmt.verb, o.id)
}

// isArrival reports whether arrive compiled the entry.
func (e *entry) isArrival() bool { return len(e.ops) == 1 && e.ops[0].stmt == stmtArrive }

// post moves the arrivals into the tables, in the open transaction.
func (w *writer) post() error {
	if w.arrived == 0 {
		return nil
	}
	for _, s := range []*statement{stmtPostMessages, stmtPostTurns, stmtPosted} {
		rows, err := w.conn.exec(s)
		if err != nil {
			return fmt.Errorf("post arrivals: %w", err)
		}
		if s == stmtPostMessages {
			w.counters[0] += rows
		}
	}
	w.arrived = 0
	return nil
}
