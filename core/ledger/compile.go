package ledger

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/core"
)

// bodyBytes is the size from which a text is stored in bodies instead of the row. SQLite
// copies a whole row when the message begins and when the message ends; half a page
// costs about nothing to copy.
const bodyBytes = 2 << 10

// The kinds of bodies.
const (
	bodyContent int64 = iota
	bodyLine
)

// An op is one statement of a change with its arguments. The goroutine that calls Write
// builds the ops, so the writer only executes statements, and callers may change their
// records afterwards.
type op struct {
	stmt stmtID
	args []driver.Value
	id   string // subject of the statement, for errors
	out  *int64 // opRaise: destination of the value
	paid payment
}

// A payment is an op's cost, charged to a day if the op changes a row. A change written
// again after a crash is therefore charged once.
type payment struct {
	day string
	usd float64
}

func paid(at time.Time, usd float64) payment {
	if usd <= 0 {
		return payment{}
	}
	return payment{core.Day(at), usd}
}

// A compiler collects the ops of one change.
type compiler struct {
	ops   []op
	bytes int // approximate size of the arguments
	err   error
}

// compile turns a change into statements in execution order. Statements that may be
// refused as duplicates come first, because a refusal then leaves nothing to undo.
func compile(c *core.Change) ([]op, int, error) {
	if k, ok := arrive(c); ok {
		return k.ops, k.bytes, k.err
	}
	k := &compiler{ops: make([]op, 0, len(c.Accept)+2*len(c.Begin)+len(c.Settle)+2*len(c.End)+2)}
	claims := claim(c)
	for i, m := range c.Accept {
		var t *core.Turn
		if claims != nil {
			t = claims[i]
		}
		k.accept(m, t)
	}
	for _, t := range c.Begin {
		k.begin(t, c.Accept, claims)
	}
	for _, t := range c.Update {
		k.update(t)
	}
	for _, id := range c.Requeue {
		k.add(op{stmt: opRequeue, id: string(id), args: []driver.Value{string(id)}}, 0)
	}
	for i := range c.Settle {
		k.settle(&c.Settle[i])
	}
	for _, t := range c.End {
		k.end(t)
	}
	for _, a := range c.Approvals {
		k.approval(a)
	}
	for _, b := range c.Background {
		k.background(b)
	}
	k.outbox(c)
	for _, m := range c.Amend {
		k.amend(m)
	}
	for _, p := range c.Reorder {
		k.add(op{stmt: opRank, id: string(p.ID), args: []driver.Value{int64(p.Rank), string(p.ID)}}, 0)
	}
	for i := range c.Settings {
		k.settings(&c.Settings[i])
	}
	return k.ops, k.bytes, k.err
}

// claim returns for each accepted message the turn that begins with the message in the
// same change. compile records a claimed message as running at once, which saves a
// statement. If two turns name a message, the second turn's own statement runs and
// fails.
func claim(c *core.Change) []*core.Turn {
	if len(c.Accept) == 0 || len(c.Begin) == 0 {
		return nil
	}
	claims := make([]*core.Turn, len(c.Accept))
	for _, t := range c.Begin {
		for _, id := range t.Members {
			if i := indexOf(c.Accept, id); i >= 0 && claims[i] == nil {
				claims[i] = t
			}
		}
	}
	return claims
}

func indexOf(ms []*core.Message, id core.MessageID) int {
	for i, m := range ms {
		if m.ID == id {
			return i
		}
	}
	return -1
}

func (k *compiler) add(o op, bytes int) {
	k.ops = append(k.ops, o)
	k.bytes += bytes
}

func (k *compiler) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// doc encodes v as JSON.
func (k *compiler) doc(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		k.fail(fmt.Errorf("encode for the ledger: %w", err))
	}
	return string(b)
}

func (k *compiler) accept(m *core.Message, t *core.Turn) {
	content, doc := k.message(m)
	state, turn, dispatched := codeWaiting, driver.Value(nil), int64(0)
	if t != nil {
		state, turn, dispatched = codeRunning, string(t.ID), nanos(t.BegunAt)
	}
	inline, body := split(content)
	if m.FormerKey != "" {
		k.add(op{stmt: opRenewKey, id: m.FormerKey, args: []driver.Value{m.SourceKey, m.FormerKey, string(m.Channel)}}, 0)
	}
	if m.KeyKept > 0 {
		k.add(op{stmt: opFreeKey, id: m.SourceKey, args: []driver.Value{m.SourceKey, nanos(m.ReceivedAt.Add(-m.KeyKept))}}, 0)
	}
	k.add(op{stmt: opAccept, id: m.SourceKey, args: []driver.Value{
		string(m.ID), string(m.Channel), nullable(m.SourceKey), nanos(m.ReceivedAt), state, turn, dispatched, doc, inline,
	}}, len(content)+len(doc))
	if body != nil {
		k.body(bodyContent, string(m.ID), body)
	}
}

// message returns the stored content and the document of a message.
func (k *compiler) message(m *core.Message) (content, doc string) {
	content, blocks, err := encodeContent(m.Content)
	if err != nil {
		k.fail(fmt.Errorf("encode content of %s: %w", m.ID, err))
	}
	d := messageDoc{
		Adapter: m.Adapter, Origin: m.Origin, Mode: m.Mode, SourceHash: m.SourceHash, RetryOf: m.RetryOf,
		CanAsk: m.CanAsk, Deliver: m.Deliver, Interrupts: m.Interrupts, Blocks: blocks,
	}
	if blocks || len(content) >= bodyBytes {
		short := m.Prompt
		if short.IsZero() {
			short = core.PromptOf(m.Content)
		}
		short = short.Short()
		d.Prompt = &short
	}
	return content, k.doc(d)
}

// amend replaces the content of a waiting message.
func (k *compiler) amend(m *core.Message) {
	content, doc := k.message(m)
	inline, body := split(content)
	id := string(m.ID)
	k.add(op{stmt: opAmend, id: id, args: []driver.Value{inline, doc, id}}, len(content)+len(doc))
	k.add(op{stmt: opNoBody, id: id, args: []driver.Value{bodyContent, id}}, 0)
	if body != nil {
		k.body(bodyContent, id, body)
	}
}

func (k *compiler) begin(t *core.Turn, accepted []*core.Message, claims []*core.Turn) {
	doc := k.turnDoc(t)
	inline, body := split(string(t.Line))
	k.add(op{stmt: opBegin, id: string(t.ID), args: []driver.Value{
		string(t.ID), t.SessionID, nanos(t.BegunAt), doc, inline,
	}}, len(t.Line)+len(doc))
	if body != nil {
		k.body(bodyLine, string(t.ID), body)
	}
	for n, id := range t.Members {
		if i := indexOf(accepted, id); i >= 0 && claims[i] == t && !contains(t.Members[:n], id) {
			continue // accept has recorded the message as running
		}
		k.add(op{stmt: opRun, id: string(id), args: []driver.Value{string(t.ID), nanos(t.BegunAt), string(id)}}, 0)
	}
	k.opens(t)
}

func contains(ids []core.MessageID, id core.MessageID) bool {
	for _, other := range ids {
		if other == id {
			return true
		}
	}
	return false
}

func (k *compiler) update(t *core.Turn) {
	k.add(op{stmt: opUpdate, id: string(t.ID), args: []driver.Value{t.SessionID, k.turnDoc(t), string(t.ID)}}, 0)
	k.opens(t)
}

func (k *compiler) turnDoc(t *core.Turn) string {
	return k.doc(turnDoc{
		Channel: t.Channel, Members: t.Members, Opens: t.Opens, Steered: t.Steered, CanAsk: t.CanAsk, Notices: t.Notices,
	})
}

// opens records that bareclaw created the session's id, if the turn opens the session.
func (k *compiler) opens(t *core.Turn) {
	if t.Opens && t.SessionID != "" {
		k.add(op{stmt: opSessionOurs, id: t.SessionID, args: []driver.Value{t.SessionID}}, 0)
	}
}

func (k *compiler) settle(s *core.Settlement) {
	r := &s.Reply
	code, ok := stateCode(r.State)
	if !ok {
		k.fail(fmt.Errorf("settle message %s: %q is not an outcome", s.ID, r.State))
		return
	}
	doc := k.doc(outcomeDoc{
		IsError: r.IsError, Code: r.Code, Error: r.Error, Coalesced: r.Coalesced, Into: r.Into, Via: r.Via, Duration: r.Duration,
		CostUSD: r.CostUSD, SessionID: r.SessionID, Done: r.Done, Notices: r.Notices,
	})
	k.add(op{stmt: opSettle, id: string(s.ID), args: []driver.Value{code, nanos(s.EndedAt), doc, r.Text, string(s.ID)}}, len(r.Text)+len(doc))
}

func (k *compiler) end(t *core.Turn) {
	if t.EndedAt.IsZero() {
		k.fail(fmt.Errorf("end turn %s: no time given", t.ID))
		return
	}
	text := driver.Value(nil)
	if t.Result != nil {
		text = t.Result.Text
	}
	doc := k.doc(endingOf(t))
	k.add(op{stmt: opEnd, id: string(t.ID), args: []driver.Value{nanos(t.EndedAt), t.SessionID, doc, text, string(t.ID)},
		paid: paid(t.EndedAt, t.CostUSD)}, len(doc))
	if t.Result == nil {
		return
	}
	k.bytes += len(t.Result.Text)
	session := t.SessionID
	if session == "" {
		session = t.Result.SessionID
	}
	if session != "" {
		k.add(op{stmt: opSessionDone, id: session, args: []driver.Value{session, t.Result.TotalCost}}, 0)
	}
}

func (k *compiler) background(b *core.Background) {
	k.add(op{stmt: opBackground, id: b.ID, args: []driver.Value{b.ID, string(b.Channel), nanos(b.CreatedAt), flag(b.IsError), b.Text},
		paid: paid(b.CreatedAt, b.CostUSD)}, len(b.Text))
	if b.SessionID != "" && b.TotalCost > 0 {
		k.add(op{stmt: opSessionCost, id: b.SessionID, args: []driver.Value{b.SessionID, b.TotalCost}}, 0)
	}
}

func (k *compiler) approval(a *core.Approval) {
	doc := k.doc(approvalDoc{
		Kind: a.Kind, Channel: a.Channel, Message: a.Message, Prompt: a.Prompt, RequestID: a.RequestID, Tool: a.Tool, Reason: a.Reason, Retry: a.Retry,
		By: a.DecidedBy,
	})
	k.add(op{stmt: opApproval, id: a.ID, args: []driver.Value{
		a.ID, string(a.Turn), string(a.State), nanos(a.CreatedAt), nanos(a.ExpiresAt), nanos(a.DecidedAt), doc,
		raw(a.Input), raw(a.Suggestion),
	}}, len(a.Input)+len(a.Suggestion)+len(doc))
}

func (k *compiler) body(kind int64, owner string, data driver.Value) {
	k.add(op{stmt: opBody, id: owner, args: []driver.Value{kind, owner, data}}, 0)
}

// split returns a small text as the row's value and a large text as a body.
func split(text string) (inline, body driver.Value) {
	if len(text) < bodyBytes {
		return text, nil
	}
	return nil, text
}

func nullable(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func raw(b json.RawMessage) driver.Value {
	if b == nil {
		return nil
	}
	return string(b)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
