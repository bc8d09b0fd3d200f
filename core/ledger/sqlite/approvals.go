package sqlite

import (
	"context"
	"fmt"

	"bareclaw/core"
)

var stmtApproval = newStatement("store approval",
	`INSERT INTO approvals(id, turn, state, created_at, expires_at, decided_at, doc, input, suggestion)
	VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET turn=excluded.turn, state=excluded.state,
	created_at=excluded.created_at, expires_at=excluded.expires_at, decided_at=excluded.decided_at, doc=excluded.doc,
	input=excluded.input, suggestion=excluded.suggestion WHERE approvals.state='pending'`)

func putApprovals(k *compiler, c *core.Change) {
	for _, a := range c.Approvals {
		putApproval(k, a)
	}
}

func putApproval(k *compiler, a *core.Approval) {
	doc := k.doc(core.Approval{
		Kind:      a.Kind,
		Channel:   a.Channel,
		Message:   a.Message,
		Prompt:    a.Prompt,
		RequestID: a.RequestID,
		Tool:      a.Tool,
		Why:       a.Why,
		Reason:    a.Reason,
		Retry:     a.Retry,
		DecidedBy: a.DecidedBy,
	})
	k.add(stmtApproval, a.ID, a.ID, string(a.Turn), string(a.State), nanos(a.CreatedAt), nanos(a.ExpiresAt), nanos(a.DecidedAt), doc,
		raw(a.Input), raw(a.Suggestion))
}

// approvals reads approvals and implements [core.ApprovalReader].
type approvals struct{ reader *reader }

const approvalColumns = `SELECT id, turn, state, created_at, expires_at, decided_at, doc, input, suggestion FROM approvals `

func scanApproval(scan scanFunc) (a core.Approval, err error) {
	err = scan(&a.ID, &a.Turn, &a.State, at(&a.CreatedAt), at(&a.ExpiresAt), at(&a.DecidedAt), storedDoc{&a}, bytesOf(&a.Input), bytesOf(&a.Suggestion))
	if err != nil {
		err = fmt.Errorf("approval %s: %w", a.ID, err)
	}
	return a, err
}

// Approval implements [core.ApprovalReader].
func (l approvals) Approval(ctx context.Context, id string) (core.Approval, error) {
	return readOne(ctx, l.reader, "approval "+id, scanApproval, approvalColumns+`WHERE id=?`, id)
}

// PendingApprovals implements [core.ApprovalReader].
func (l approvals) PendingApprovals(ctx context.Context) ([]core.Approval, error) {
	return readAll(ctx, l.reader, "pending approvals", scanApproval, approvalColumns+`WHERE state='pending' ORDER BY seq`)
}

// TurnApprovals implements [core.ApprovalReader].
func (l approvals) TurnApprovals(ctx context.Context, id core.TurnID) ([]core.Approval, error) {
	return readAll(ctx, l.reader, "approvals of turn "+string(id), scanApproval, approvalColumns+`WHERE turn=? ORDER BY seq`, string(id))
}
