package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/core"
)

const approvalColumns = `SELECT id, turn, state, created_at, expires_at, decided_at, doc, input, suggestion FROM approvals `

func scanApproval(scan func(...any) error) (core.Approval, error) {
	var a core.Approval
	var created, expires, decided int64
	var doc string
	var input, suggestion []byte
	if err := scan(&a.ID, &a.Turn, &a.State, &created, &expires, &decided, &doc, &input, &suggestion); err != nil {
		return a, err
	}
	a.CreatedAt, a.ExpiresAt, a.DecidedAt = fromNanos(created), fromNanos(expires), fromNanos(decided)
	a.Input, a.Suggestion = input, suggestion
	var d approvalDoc
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return a, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	a.Kind, a.Channel, a.Message, a.Prompt, a.Retry = d.Kind, d.Channel, d.Message, d.Prompt, d.Retry
	a.RequestID, a.Tool, a.Reason, a.DecidedBy = d.RequestID, d.Tool, d.Reason, d.By
	return a, nil
}

// Approval implements [core.Ledger].
func (l *Ledger) Approval(ctx context.Context, id string) (core.Approval, error) {
	if err := l.settled(ctx); err != nil {
		return core.Approval{}, err
	}
	a, err := one(ctx, l.readers, scanApproval, approvalColumns+`WHERE id=?`, id)
	return a, l.reading(err, "approval %s", id)
}

// PendingApprovals implements [core.Ledger].
func (l *Ledger) PendingApprovals(ctx context.Context) ([]core.Approval, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	as, err := list(ctx, l.readers, scanApproval, approvalColumns+`WHERE state='pending' ORDER BY seq`)
	return as, l.reading(err, "pending approvals")
}

// TurnApprovals implements [core.Ledger].
func (l *Ledger) TurnApprovals(ctx context.Context, id core.TurnID) ([]core.Approval, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	as, err := list(ctx, l.readers, scanApproval, approvalColumns+`WHERE turn=? ORDER BY seq`, string(id))
	return as, l.reading(err, "approvals of turn %s", id)
}

// Backgrounds implements [core.Ledger]. For a limit below 1 the list is empty.
func (l *Ledger) Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error) {
	if err := l.settled(ctx); err != nil || limit < 1 {
		return nil, err
	}
	bs, err := list(ctx, l.readers, func(scan func(...any) error) (core.Background, error) {
		var b core.Background
		var created int64
		err := scan(&b.ID, &b.Channel, &created, &b.IsError, &b.Text)
		b.CreatedAt = fromNanos(created)
		return b, err
	}, `SELECT id, channel, created_at, is_error, text FROM backgrounds WHERE channel=? ORDER BY seq DESC LIMIT ?`, string(key), limit)
	return bs, l.reading(err, "background results of %q", key)
}

// Channels implements [core.Ledger] and sorts by the newest message first. The query
// counts messages and takes time in proportion to their number.
func (l *Ledger) Channels(ctx context.Context) ([]core.ChannelRecord, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	cs, err := list(ctx, l.readers, func(scan func(...any) error) (core.ChannelRecord, error) {
		var c core.ChannelRecord
		var last int64
		err := scan(&c.Key, &c.Messages, &last)
		c.LastAt = fromNanos(last)
		return c, err
	}, `SELECT g.channel, g.messages, m.received_at
		FROM (SELECT channel, count(*) AS messages, max(seq) AS last FROM messages GROUP BY channel) g
		JOIN messages m ON m.seq=g.last ORDER BY g.last DESC`)
	return cs, l.reading(err, "channels")
}

const selectBalance = `SELECT accepted, answered, failed, cancelled, (SELECT count(*) FROM messages WHERE state<2) FROM counters`

// Balance implements [core.Ledger].
func (l *Ledger) Balance(ctx context.Context) (core.Balance, error) {
	if err := l.settled(ctx); err != nil {
		return core.Balance{}, err
	}
	b, err := one(ctx, l.readers, func(scan func(...any) error) (b core.Balance, err error) {
		err = scan(&b.Accepted, &b.Answered, &b.Failed, &b.Cancelled, &b.Waiting)
		return b, err
	}, selectBalance)
	return b, l.reading(err, "the balance")
}
