package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"bareclaw/core"

	"github.com/google/uuid"
)

// Submit accepts a message: when Submit returns without an error, the message is durable and
// will have an outcome. Submit blocks for one sync of the ledger, not for the turn. When ctx
// ends first, the message may still have been accepted. Errors: ErrQueueFull, ErrKeyReused,
// ErrStorageFull, ErrStorage, ErrBadContent, ErrClosed.
func (m *Manager) Submit(ctx context.Context, s core.Submission) (*core.Ticket, error) {
	t, l, err := m.enqueue(s)
	if err != nil {
		return nil, err
	}
	return m.awaitAccepted(ctx, s, t, l)
}

// SubmitAndWait is Submit for a caller waiting for the outcome anyway, to wake the caller
// once instead of twice. Unless the message is refused, SubmitAndWait returns when there is
// an outcome, when the message waits on a parked channel, or, once hurry is closed, as soon
// as Submit would.
func (m *Manager) SubmitAndWait(ctx context.Context, s core.Submission, hurry <-chan struct{}) (*core.Ticket, error) {
	t, l, err := m.enqueue(s)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.Done():
	case <-t.Parked():
	case <-hurry:
	case <-l.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return m.awaitAccepted(ctx, s, t, l)
}

// enqueue passes a message to the lane. The lane reports the acceptance to the ticket.
func (m *Manager) enqueue(s core.Submission) (*core.Ticket, *lane, error) {
	if err := core.CheckContent(s.Content); err != nil {
		return nil, nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make a message id: %w", err)
	}
	msg := core.Message{
		ID: core.MessageID(id.String()), Channel: s.Channel, Adapter: s.Adapter, Origin: s.Origin,
		Content: s.Content, Prompt: core.PromptOf(s.Content), Mode: cmp.Or(s.Mode, core.Collect), SourceKey: s.SourceKey, SourceHash: s.SourceHash,
		KeyKept: s.KeyKept, FormerKey: s.FormerKey,
		RetryOf: s.RetryOf, CanAsk: s.CanAsk, Deliver: s.Deliver, ReceivedAt: m.o.Now(), State: core.Waiting,
	}
	t := core.NewTicket(msg)
	it := &queued{msg: &msg, ticket: t}
	if s.Decides != nil {
		a := *s.Decides
		a.State, a.Retry, a.DecidedAt = core.ApprovalAllowed, msg.ID, msg.ReceivedAt
		it.decides = &a
	}
	m.tickets.add(t)
	l, err := m.lanes.post(s.Channel, func(l *lane) { l.admitOrRefuse(it) })
	if err != nil {
		m.tickets.drop(msg.ID)
		return nil, nil, err
	}
	return t, l, nil
}

// awaitAccepted returns the ticket once the message is accepted.
func (m *Manager) awaitAccepted(ctx context.Context, s core.Submission, t *core.Ticket, l *lane) (*core.Ticket, error) {
	if _, err := await(ctx, l, t.Accepted()); err != nil {
		return nil, err
	}
	if t.Refusal() == nil {
		return t, nil
	}
	if dup := (*core.DuplicateError)(nil); errors.As(t.Refusal(), &dup) {
		return m.existing(ctx, s, dup)
	}
	return nil, t.Refusal()
}

// existing returns the ticket of the message accepted earlier under the same source key.
func (m *Manager) existing(ctx context.Context, s core.Submission, dup *core.DuplicateError) (*core.Ticket, error) {
	if dup.Hash != s.SourceHash {
		return nil, fmt.Errorf("%w: it belongs to message %s", core.ErrKeyReused, dup.Existing)
	}
	t, err := m.Lookup.Ticket(ctx, dup.Existing)
	if err != nil {
		return nil, fmt.Errorf("read the message of a repeated source key: %w", err)
	}
	return t, nil
}
