package ledger

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

type approvalDoc struct {
	Kind      core.ApprovalKind `json:"kind,omitempty"`
	Channel   core.ChannelKey   `json:"channel"`
	Message   core.MessageID    `json:"message,omitempty"`
	Prompt    core.Prompt       `json:"prompt,omitzero"`
	RequestID string            `json:"request_id,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Retry     core.MessageID    `json:"retry,omitempty"`
	By        string            `json:"by,omitempty"`
}

func putApproval(k *compiler, a *core.Approval) {
	doc := k.doc(approvalDoc{
		Kind: a.Kind, Channel: a.Channel, Message: a.Message, Prompt: a.Prompt, RequestID: a.RequestID, Tool: a.Tool, Reason: a.Reason, Retry: a.Retry,
		By: a.DecidedBy,
	})
	k.add(stmtApproval, a.ID, a.ID, string(a.Turn), string(a.State), nanos(a.CreatedAt), nanos(a.ExpiresAt), nanos(a.DecidedAt), doc,
		raw(a.Input), raw(a.Suggestion))
}

// approvals reads approvals and implements [core.ApprovalReader].
type approvals struct{ *reader }

const approvalColumns = `SELECT id, turn, state, created_at, expires_at, decided_at, doc, input, suggestion FROM approvals `

func scanApproval(scan scanFunc) (a core.Approval, err error) {
	var d approvalDoc
	if err := scan(&a.ID, &a.Turn, &a.State, at(&a.CreatedAt), at(&a.ExpiresAt), at(&a.DecidedAt), storedDoc{&d},
		bytesOf(&a.Input), bytesOf(&a.Suggestion)); err != nil {
		return a, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	a.Kind, a.Channel, a.Message, a.Prompt, a.Retry = d.Kind, d.Channel, d.Message, d.Prompt, d.Retry
	a.RequestID, a.Tool, a.Reason, a.DecidedBy = d.RequestID, d.Tool, d.Reason, d.By
	return a, nil
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
