package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Submit accepts a message: when it returns without an error the message is
// durable and will have an outcome. It blocks for one sync of the ledger, not
// for the turn. When ctx ends first the message may still have been accepted.
// Errors: ErrQueueFull, ErrKeyReused, ErrStorageFull, ErrStorage, ErrBadContent,
// ErrClosed.
func (m *ProcessManager) Submit(ctx context.Context, s Submission) (*Ticket, error) {
	t, l, err := m.offer(s)
	if err != nil {
		return nil, err
	}
	return m.admitted(ctx, s, t, l)
}

// SubmitAndWait is Submit for a caller that waits for the outcome anyway. Unless
// the message is refused it returns when there is an outcome, when the message
// waits on a parked channel, or after hurry is closed as soon as Submit would: such
// a caller is woken once instead of twice.
func (m *ProcessManager) SubmitAndWait(ctx context.Context, s Submission, hurry <-chan struct{}) (*Ticket, error) {
	t, l, err := m.offer(s)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
	case <-t.Parked():
	case <-hurry:
	case <-l.gone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return m.admitted(ctx, s, t, l)
}

// offer hands a message to its lane, which tells the ticket whether it is
// accepted.
func (m *ProcessManager) offer(s Submission) (*Ticket, *lane, error) {
	if err := checkContent(s.Content); err != nil {
		return nil, nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make a message id: %w", err)
	}
	msg := Message{
		ID: MessageID(id.String()), Channel: s.Channel, Adapter: s.Adapter, Origin: s.Origin,
		Content: s.Content, Prompt: PromptOf(s.Content), Mode: cmp.Or(s.Mode, Collect), SourceKey: s.SourceKey, SourceHash: s.SourceHash,
		KeyKept: s.KeyKept, FormerKey: s.FormerKey,
		RetryOf: s.RetryOf, CanAsk: s.CanAsk, Deliver: s.Deliver, ReceivedAt: m.o.Now(), State: Waiting,
	}
	t := newTicket(msg)
	it := &item{msg: &msg, ticket: t}
	if s.Decides != nil {
		a := *s.Decides
		a.State, a.Retry, a.DecidedAt = ApprovalAllowed, msg.ID, msg.ReceivedAt
		it.decides = &a
	}
	m.desk.add(t)
	l, err := m.postTo(s.Channel, func(l *lane) { l.admit(it) })
	if err != nil {
		m.desk.drop(msg.ID)
		return nil, nil, err
	}
	return t, l, nil
}

// admitted returns the ticket once its message is accepted.
func (m *ProcessManager) admitted(ctx context.Context, s Submission, t *Ticket, l *lane) (*Ticket, error) {
	if _, err := toldBy(ctx, l, t.accepted); err != nil {
		return nil, err
	}
	if t.refusal == nil {
		return t, nil
	}
	if dup := (*DuplicateError)(nil); errors.As(t.refusal, &dup) {
		return m.existing(ctx, s, dup)
	}
	return nil, t.refusal
}

// existing returns the ticket of the message that was accepted under the same
// source key.
func (m *ProcessManager) existing(ctx context.Context, s Submission, dup *DuplicateError) (*Ticket, error) {
	if dup.Hash != s.SourceHash {
		return nil, fmt.Errorf("%w: it belongs to message %s", ErrKeyReused, dup.Existing)
	}
	t, err := m.Ticket(ctx, dup.Existing)
	if err != nil {
		return nil, fmt.Errorf("read the message of a repeated source key: %w", err)
	}
	return t, nil
}
