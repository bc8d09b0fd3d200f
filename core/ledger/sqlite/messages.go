package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bareclaw/core"
)

var (
	stmtAccept = newStatement("accept message with source key",
		`INSERT INTO messages(id, channel, source_key, received_at, state, dispatched_at, doc, content)
		VALUES(?,?,?,?,0,0,?,?) ON CONFLICT(source_key) WHERE source_key IS NOT NULL DO NOTHING`).orElse(duplicate)
	// A message without an outcome keeps its key.
	stmtFreeKey    = newStatement("free source key", `UPDATE messages SET source_key=NULL WHERE source_key=?1 AND received_at<?2 AND state>1`)
	stmtRun        = newStatement("begin a turn with message", `UPDATE messages SET state=1, turn=?, dispatched_at=? WHERE id=? AND state=0`).orElse(notWaiting)
	stmtRequeue    = newStatement("put back message", `UPDATE messages SET state=0, turn=NULL, dispatched_at=0 WHERE id=? AND state=1`).orElse(knownMessage)
	stmtSettle     = newStatement("settle message", `UPDATE messages SET state=?, ended_at=?, outcome=?, reply=? WHERE id=? AND state<2`).orElse(knownMessage)
	stmtAmend      = newStatement("amend message", `UPDATE messages SET content=?, doc=? WHERE id=? AND state=0`).orElse(notWaiting)
	stmtRank       = newStatement("reorder message", `UPDATE messages SET rank=? WHERE id=? AND state=0`).orElse(notWaiting)
	stmtBySource   = newStatement("", `SELECT id, doc FROM messages WHERE source_key=?`)
	stmtHasMessage = newStatement("", `SELECT 1 FROM messages WHERE id=?`)
)

// A messageDoc is a message without what the columns have.
type messageDoc struct {
	core.Message
	Blocks bool         `json:"blocks,omitempty"` // the content is JSON, not bare text
	Prompt *core.Prompt `json:"prompt,omitempty"` // short; nil for text stored in the row
}

// The stored codes of the message states.
const (
	codeWaiting int64 = iota
	codeRunning
	codeAnswered
	codeFailed
	codeCancelled
)

var states = [...]core.State{core.Waiting, core.Running, core.Answered, core.Failed, core.Cancelled}

func acceptMessages(k *compiler, c *core.Change) {
	for _, m := range c.Accept {
		acceptMessage(k, m)
	}
}

func acceptMessage(k *compiler, m *core.Message) {
	content, doc := encodeMessage(k, m)
	if m.KeyKept > 0 {
		k.add(stmtFreeKey, m.SourceKey, m.SourceKey, nanos(m.ReceivedAt.Add(-m.KeyKept)))
	}
	k.add(stmtAccept, m.SourceKey, string(m.ID), string(m.Channel), nullable(m.SourceKey), nanos(m.ReceivedAt), doc, inline(content))
	k.body(bodyContent, string(m.ID), content)
}

func encodeMessage(k *compiler, m *core.Message) (content, doc string) {
	content, blocks, err := encodeContent(m.Content)
	if err != nil {
		k.fail(fmt.Errorf("encode content of %s: %w", m.ID, err))
	}
	d := messageDoc{
		Blocks: blocks,
		Message: core.Message{
			Adapter:    m.Adapter,
			Origin:     m.Origin,
			Mode:       m.Mode,
			SourceHash: m.SourceHash,
			RetryOf:    m.RetryOf,
			CanAsk:     m.CanAsk,
			Deliver:    m.Deliver,
			Depth:      m.Depth,
			Interrupts: m.Interrupts,
		},
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

func requeueMessages(k *compiler, c *core.Change) {
	for _, id := range c.Requeue {
		k.add(stmtRequeue, string(id), string(id))
	}
}

func reorderMessages(k *compiler, c *core.Change) {
	for _, r := range c.Reorder {
		k.add(stmtRank, string(r.ID), int64(r.Rank), string(r.ID))
	}
}

func amendMessages(k *compiler, c *core.Change) {
	for _, m := range c.Amend {
		amendMessage(k, m)
	}
}

func amendMessage(k *compiler, m *core.Message) {
	content, doc := encodeMessage(k, m)
	id := string(m.ID)
	k.add(stmtAmend, id, inline(content), doc, id)
	k.add(stmtNoBody, id, bodyContent, id)
	k.body(bodyContent, id, content)
}

func settleMessages(k *compiler, c *core.Change) {
	for i := range c.Settle {
		settleMessage(k, &c.Settle[i])
	}
}

func settleMessage(k *compiler, s *core.Settlement) {
	code := int64(slices.Index(states[:], s.Reply.State))
	if code < codeAnswered {
		k.fail(fmt.Errorf("settle message %s: %q is not an outcome", s.ID, s.Reply.State))
		return
	}
	doc := s.Reply
	doc.State = ""
	doc.Text = ""
	k.add(stmtSettle, string(s.ID), code, nanos(s.EndedAt), k.doc(doc), s.Reply.Text, string(s.ID))
}

// notWaiting is the error for a message that does not wait.
func notWaiting(_ *writeConn, o *op) error {
	return fmt.Errorf("%s %s: %w", o.stmt.verb, o.id, core.ErrNotWaiting)
}

// knownMessage accepts that a message stays as it is, for instance with its outcome.
func knownMessage(c *writeConn, o *op) error { return c.exists(stmtHasMessage, o) }

// duplicate returns the [core.DuplicateError] of a message whose source key is known.
func duplicate(c *writeConn, o *op) error {
	key := o.id
	var id core.MessageID
	var doc messageDoc
	err := c.row(stmtBySource, key).Scan(&id, storedDoc{&doc})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("message with source key %q was not recorded", key)
	case err != nil:
		return fmt.Errorf("message with source key %q: %w", key, err)
	}
	return &core.DuplicateError{Existing: id, Hash: doc.SourceHash}
}

// encodeContent returns the column value of a content: bare text unchanged, or, with
// blocks, the JSON of the whole content. Blocks are valid JSON and may be large, hence
// encodeContent neither parses nor reformats blocks.
func encodeContent(c core.Content) (value string, blocks bool, err error) {
	if len(c.Blocks) == 0 {
		return c.Text, false, nil
	}
	text, err := json.Marshal(c.Text)
	if err != nil {
		return "", false, err
	}
	var b strings.Builder
	b.Grow(c.Size() + len(c.Blocks) + 32)
	b.WriteString(`{"text":`)
	b.Write(text)
	b.WriteString(`,"blocks":[`)
	for i, block := range c.Blocks {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(block)
	}
	b.WriteString("]}")
	return b.String(), true, nil
}

func decodeContent(value string, blocks bool) (core.Content, error) {
	if !blocks {
		return core.Content{Text: value}, nil
	}
	var c core.Content
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return core.Content{}, fmt.Errorf("content: %w", err)
	}
	return c, nil
}

// messages reads messages and implements [core.MessageReader].
type messages struct{ reader *reader }

const messageFields = `SELECT m.id, m.channel, coalesce(m.source_key,''), m.received_at, m.state, coalesce(m.turn,''),
	m.dispatched_at, m.ended_at, m.rank, m.doc, m.outcome, coalesce(m.reply,''), `

const messageColumns = messageFields + `coalesce(m.content, b.data, '')
	FROM messages m LEFT JOIN bodies b ON m.content IS NULL AND b.kind=0 AND b.owner=m.id `

// listColumns omits the bodies.
const listColumns = messageFields + `coalesce(m.content, '') FROM messages m `

func scanMessage(scan scanFunc) (core.Message, error) {
	d, content, err := scanColumns(scan)
	m := d.Message
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
func scanListed(scan scanFunc) (core.Message, error) {
	d, content, err := scanColumns(scan)
	if err == nil {
		d.Message.Prompt, err = shortPrompt(d, content)
	}
	return d.Message, err
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

func scanColumns(scan scanFunc) (d messageDoc, content string, err error) {
	m := &d.Message
	state := int64(0)
	reply := ""
	err = scan(&m.ID, &m.Channel, &m.SourceKey, at(&m.ReceivedAt), &state, &m.Turn, at(&m.DispatchedAt), at(&m.EndedAt), &m.Rank,
		storedDoc{&d}, storedDoc{&m.Reply}, &reply, &content)
	if err != nil {
		return d, content, fmt.Errorf("message %s: %w", m.ID, err)
	}
	m.State = states[codeWaiting]
	if state < int64(len(states)) { // else a program to come has written the message
		m.State = states[state]
	}
	if m.State.Final() {
		m.Reply.State = m.State
		m.Reply.Text = reply
		m.Reply = m.Reply.Complete()
	}
	return d, content, nil
}

// Message implements [core.MessageReader].
func (l messages) Message(ctx context.Context, id core.MessageID) (core.Message, error) {
	return readOne(ctx, l.reader, "message "+string(id), scanMessage, messageColumns+`WHERE m.id=?`, string(id))
}

// Messages implements [core.MessageReader]. The error is ErrNotFound for an unknown
// before. For a limit below 1 the list is empty.
func (l messages) Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error) {
	where := `WHERE m.channel=? `
	args := []any{string(key)}
	if before != "" {
		seq, err := readOne(ctx, l.reader, "message "+string(before), column[int64], `SELECT seq FROM messages WHERE id=?`, string(before))
		if err != nil {
			return nil, err
		}
		where += `AND m.seq<? `
		args = append(args, seq)
	}
	ms, err := readAll(ctx, l.reader, "messages of "+string(key), scanListed, listColumns+where+`ORDER BY m.seq DESC LIMIT ?`, append(args, max(0, limit))...)
	for i := range ms {
		if err == nil && ms[i].Prompt.IsZero() {
			ms[i].Prompt, err = l.promptOfBody(ctx, ms[i].ID)
		}
	}
	return ms, err
}

// promptOfBody returns the prompt of a message written by an earlier version, and the
// zero prompt of an empty content. Only one body is in memory at a time.
func (l messages) promptOfBody(ctx context.Context, id core.MessageID) (p core.Prompt, err error) {
	all, err := readAll(ctx, l.reader, "the prompt of message "+string(id), func(scan scanFunc) (core.Prompt, error) {
		var d messageDoc
		var content string
		if err := scan(storedDoc{&d}, &content); err != nil {
			return p, err
		}
		return shortPrompt(d, content)
	}, `SELECT m.doc, b.data FROM messages m JOIN bodies b ON b.kind=0 AND b.owner=m.id WHERE m.id=?`, string(id))
	if len(all) > 0 {
		p = all[0]
	}
	return p, err
}

// MessageIDs implements [core.MessageReader]. It reads the ids of all messages, from their index.
func (l messages) MessageIDs(ctx context.Context, text string, limit int) ([]core.MessageID, error) {
	return readAll(ctx, l.reader, "the messages whose id has "+text, column[core.MessageID],
		`SELECT id FROM messages WHERE substr(id, 1, length(?1))=?1 OR substr(id, -length(?1))=?1 LIMIT ?2`, text, limit)
}

// Open implements [core.MessageReader].
func (l messages) Open(ctx context.Context) ([]core.Message, []core.Turn, error) {
	ms, err := readAll(ctx, l.reader, "open messages", scanMessage, messageColumns+`WHERE m.state<2 ORDER BY m.rank, m.seq`)
	if err != nil {
		return nil, nil, err
	}
	// Turns that have not ended are found by their open members.
	ts, err := readAll(ctx, l.reader, "open turns", scanTurn,
		turnColumns+`WHERE t.id IN (SELECT turn FROM messages WHERE state<2 AND turn IS NOT NULL) ORDER BY t.seq`)
	return ms, ts, err
}
