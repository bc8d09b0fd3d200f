package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"bareclaw/core"
)

// settled blocks until all earlier writes can be read. The writer's goroutine must not
// call settled.
func (l *Ledger) settled(ctx context.Context) error {
	switch idle, closed := l.queue.state(); {
	case closed:
		return core.ErrClosed
	case idle:
		return nil
	}
	landed := make(chan error, 1)
	if !l.queue.add(barrier(func(err error) { landed <- err })) {
		return core.ErrClosed
	}
	select {
	case err := <-landed:
		if l.queue.unposted.Load() {
			return err
		}
		return nil // another change of the barrier's group may have failed: all successful earlier writes can be read
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list runs a query and scans each row.
func list[T any](ctx context.Context, q querier, scan func(func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports more
	var all []T
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// one is list for a query that yields at most one row.
func one[T any](ctx context.Context, q querier, scan func(func(...any) error) (T, error), query string, args ...any) (T, error) {
	all, err := list(ctx, q, scan, query, args...)
	if err == nil && len(all) == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[0], nil
}

// reading wraps err with the subject of the read, and with [core.ErrClosed] if the
// ledger was closed meanwhile.
func (l *Ledger) reading(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if _, closed := l.queue.state(); closed && !errors.Is(err, core.ErrNotFound) {
		err = fmt.Errorf("%w: %w", core.ErrClosed, err)
	}
	return fmt.Errorf("ledger: read %s: %w", fmt.Sprintf(format, args...), err)
}

const messageFields = `SELECT m.id, m.channel, coalesce(m.source_key,''), m.received_at, m.state, coalesce(m.turn,''),
	m.dispatched_at, m.ended_at, m.rank, m.doc, coalesce(m.outcome,''), coalesce(m.reply,''), `

const messageColumns = messageFields + `coalesce(m.content, b.data, '')
	FROM messages m LEFT JOIN bodies b ON m.content IS NULL AND b.kind=0 AND b.owner=m.id `

// listColumns omits the bodies.
const listColumns = messageFields + `coalesce(m.content, '') FROM messages m `

func scanMessage(scan func(...any) error) (core.Message, error) {
	m, d, content, err := scanColumns(scan)
	if err != nil {
		return m, err
	}
	if m.Content, err = decodeContent(content, d.Blocks); err != nil {
		return m, fmt.Errorf("message %s: %w", m.ID, err)
	}
	if d.Prompt != nil && !d.Prompt.Truncated { // avoids parsing large blocks
		m.Prompt = *d.Prompt
	} else {
		m.Prompt = core.PromptOf(m.Content)
	}
	return m, nil
}

// scanListed scans a message without its content. Prompt is zero if the content is a
// body and the document holds no prompt.
func scanListed(scan func(...any) error) (core.Message, error) {
	m, d, content, err := scanColumns(scan)
	if err != nil {
		return m, err
	}
	m.Prompt, err = shortPrompt(d, content)
	return m, err
}

// shortPrompt returns the prompt from the document, or a prompt computed from the
// content.
func shortPrompt(d messageDoc, content string) (core.Prompt, error) {
	if d.Prompt != nil {
		return *d.Prompt, nil
	}
	if content == "" {
		return core.Prompt{}, nil
	}
	c, err := decodeContent(content, d.Blocks)
	return core.PromptOf(c).Short(), err
}

func scanColumns(scan func(...any) error) (m core.Message, d messageDoc, content string, err error) {
	var received, state, dispatched, ended int64
	var doc, outcome, reply string
	err = scan(&m.ID, &m.Channel, &m.SourceKey, &received, &state, &m.Turn, &dispatched, &ended, &m.Rank, &doc, &outcome, &reply, &content)
	if err != nil {
		return m, d, content, err
	}
	m.ReceivedAt, m.DispatchedAt, m.EndedAt = fromNanos(received), fromNanos(dispatched), fromNanos(ended)
	m.State = codeState(state)
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return m, d, content, fmt.Errorf("message %s: %w", m.ID, err)
	}
	m.Adapter, m.Origin, m.Mode, m.SourceHash, m.RetryOf, m.CanAsk, m.Deliver = d.Adapter, d.Origin, d.Mode, d.SourceHash, d.RetryOf, d.CanAsk, d.Deliver
	m.Interrupts = d.Interrupts
	if !m.State.Final() {
		return m, d, content, nil
	}
	var o outcomeDoc
	if err := json.Unmarshal([]byte(outcome), &o); err != nil {
		return m, d, content, fmt.Errorf("outcome of message %s: %w", m.ID, err)
	}
	m.Reply = core.Reply{
		State: m.State, Text: reply, IsError: o.IsError, Code: o.Code, Error: o.Error, Coalesced: o.Coalesced, Into: o.Into, Via: o.Via,
		Duration: o.Duration, CostUSD: o.CostUSD, SessionID: o.SessionID, Done: o.Done, Notices: o.Notices,
	}.Complete()
	return m, d, content, nil
}

// Message implements [core.Ledger].
func (l *Ledger) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	if err := l.settled(ctx); err != nil {
		return core.Message{}, err
	}
	m, err := one(ctx, l.readers, scanMessage, messageColumns+`WHERE m.id=?`, string(id))
	return m, l.reading(err, "message %s", id)
}

// Messages implements [core.Ledger]. The error is ErrNotFound for an unknown before. For
// a limit below 1 the list is empty.
func (l *Ledger) Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error) {
	if err := l.settled(ctx); err != nil || limit < 1 {
		return nil, err
	}
	where, args := `WHERE m.channel=? `, []any{string(key)}
	if before != "" {
		seq, err := one(ctx, l.readers, scanInt, `SELECT seq FROM messages WHERE id=?`, string(before))
		if err != nil {
			return nil, l.reading(err, "message %s", before)
		}
		where, args = where+`AND m.seq<? `, append(args, seq)
	}
	ms, err := list(ctx, l.readers, scanListed, listColumns+where+`ORDER BY m.seq DESC LIMIT ?`, append(args, limit)...)
	for i := range ms {
		if err == nil && ms[i].Prompt.IsZero() {
			ms[i].Prompt, err = l.promptOfBody(ctx, ms[i].ID)
		}
	}
	return ms, l.reading(err, "messages of %q", key)
}

// promptOfBody returns the prompt of a message written by an earlier version. Only one
// body is in memory at a time.
func (l *Ledger) promptOfBody(ctx context.Context, id core.MessageID) (core.Prompt, error) {
	p, err := one(ctx, l.readers, func(scan func(...any) error) (p core.Prompt, err error) {
		var doc, content string
		if err := scan(&doc, &content); err != nil {
			return p, err
		}
		var d messageDoc
		if err := json.Unmarshal([]byte(doc), &d); err != nil {
			return p, fmt.Errorf("message %s: %w", id, err)
		}
		return shortPrompt(d, content)
	}, `SELECT m.doc, b.data FROM messages m JOIN bodies b ON b.kind=0 AND b.owner=m.id WHERE m.id=?`, string(id))
	if errors.Is(err, core.ErrNotFound) { // the content is empty
		return core.Prompt{}, nil
	}
	return p, err
}

func scanInt(scan func(...any) error) (n int64, err error) {
	err = scan(&n)
	return n, err
}

const turnColumns = `SELECT t.id, t.session, t.begun_at, t.ended_at, t.doc, coalesce(t.line, b.data, ''),
	coalesce(t.ending,''), coalesce(t.result,'')
	FROM turns t LEFT JOIN bodies b ON t.line IS NULL AND b.kind=1 AND b.owner=t.id `

func scanTurn(scan func(...any) error) (core.Turn, error) {
	var t core.Turn
	var begun, ended int64
	var doc, ending, result string
	if err := scan(&t.ID, &t.SessionID, &begun, &ended, &doc, &t.Line, &ending, &result); err != nil {
		return t, err
	}
	t.BegunAt, t.EndedAt = fromNanos(begun), fromNanos(ended)
	var d turnDoc
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return t, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	t.Channel, t.Members, t.Opens, t.Notices = d.Channel, d.Members, d.Opens, d.Notices
	t.Steered, t.CanAsk = d.Steered, d.CanAsk
	if ended == 0 {
		return t, nil
	}
	var e endingDoc
	if err := json.Unmarshal([]byte(ending), &e); err != nil {
		return t, fmt.Errorf("end of turn %s: %w", t.ID, err)
	}
	e.apply(&t, result)
	return t, nil
}

// Turn implements [core.Ledger].
func (l *Ledger) Turn(ctx context.Context, id core.TurnID) (core.Turn, error) {
	if err := l.settled(ctx); err != nil {
		return core.Turn{}, err
	}
	t, err := one(ctx, l.readers, scanTurn, turnColumns+`WHERE t.id=?`, string(id))
	return t, l.reading(err, "turn %s", id)
}

// openTurns selects the turns that have not ended: turns with an open member.
const openTurns = `WHERE t.id IN (SELECT turn FROM messages WHERE state<2 AND turn IS NOT NULL) ORDER BY t.seq`

// Open implements [core.Ledger]. One transaction reads both lists.
func (l *Ledger) Open(ctx context.Context) ([]core.Message, []core.Turn, error) {
	if err := l.settled(ctx); err != nil {
		return nil, nil, err
	}
	tx, err := l.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, l.reading(err, "what is open")
	}
	defer func() { _ = tx.Rollback() }() // a read-only transaction has nothing to undo
	ms, err := list(ctx, tx, scanMessage, messageColumns+`WHERE m.state<2 ORDER BY m.rank, m.seq`)
	if err != nil {
		return nil, nil, l.reading(err, "open messages")
	}
	ts, err := list(ctx, tx, scanTurn, turnColumns+openTurns)
	return ms, ts, l.reading(err, "open turns")
}

// Spent implements [core.Ledger]. An unknown day has cost 0.
func (l *Ledger) Spent(ctx context.Context, day string) (float64, error) {
	if err := l.settled(ctx); err != nil {
		return 0, err
	}
	usd, err := one(ctx, l.readers, func(scan func(...any) error) (usd float64, err error) {
		err = scan(&usd)
		return usd, err
	}, `SELECT coalesce(sum(usd), 0.0) FROM spending WHERE day=?`, day)
	return usd, l.reading(err, "what was spent on %s", day)
}

// SessionUse implements [core.Ledger]. An unknown session has the zero value.
func (l *Ledger) SessionUse(ctx context.Context, sessionID string) (core.SessionUse, error) {
	if err := l.settled(ctx); err != nil {
		return core.SessionUse{}, err
	}
	use, err := one(ctx, l.readers, func(scan func(...any) error) (u core.SessionUse, err error) {
		err = scan(&u.Ours, &u.Completed, &u.TotalCost)
		return u, err
	}, `SELECT ours, completed, total_cost FROM sessions WHERE id=?`, sessionID)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return use, l.reading(err, "session %s", sessionID)
}
