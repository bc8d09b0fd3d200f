package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

func (m *Manager) enqueue(s core.Submission) (*core.Ticket, *lane, error) {
	if err := core.CheckContent(s.Content); err != nil {
		return nil, nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("make a message id: %w", err)
	}
	msg := core.Message{
		ID:         core.MessageID(id.String()),
		Channel:    s.Channel,
		Adapter:    s.Adapter,
		Origin:     s.Origin,
		Content:    s.Content,
		Prompt:     core.PromptOf(s.Content),
		Mode:       cmp.Or(s.Mode, core.Collect),
		SourceKey:  s.SourceKey,
		SourceHash: s.SourceHash,
		KeyKept:    s.KeyKept,
		RetryOf:    s.RetryOf,
		CanAsk:     s.CanAsk,
		Deliver:    s.Deliver,
		Depth:      s.Depth,
		ReceivedAt: m.o.Now(),
		State:      core.Waiting,
	}
	t := core.NewTicket(msg)
	it := &queued{msg: &msg, ticket: t}
	if s.Decides != nil {
		a := *s.Decides
		a.State, a.Retry, a.DecidedAt = core.ApprovalAllowed, msg.ID, msg.ReceivedAt
		it.decides = &a
	}
	m.tickets.add(t)
	l, err := m.lanes.post(s.Channel, func(l *lane) { l.intake.admitOrRefuse(it) })
	if err != nil {
		m.tickets.drop(msg.ID)
		return nil, nil, err
	}
	return t, l, nil
}

// awaitAccepted returns the ticket once the message is accepted, or the ticket of the message
// accepted earlier under the same source key.
func (m *Manager) awaitAccepted(ctx context.Context, s core.Submission, t *core.Ticket, l *lane) (*core.Ticket, error) {
	if _, err := await(ctx, l.channel, t.Accepted()); err != nil {
		return nil, err
	}
	if t.Refusal() == nil {
		return t, nil
	}
	dup, repeated := errors.AsType[*core.DuplicateError](t.Refusal())
	switch {
	case !repeated:
		return nil, t.Refusal()
	case dup.Hash != s.SourceHash:
		return nil, fmt.Errorf("%w: it belongs to message %s", core.ErrKeyReused, dup.Existing)
	}
	old, err := m.Lookup.Ticket(ctx, dup.Existing)
	if err != nil {
		return nil, fmt.Errorf("read the message of a repeated source key: %w", err)
	}
	return old, nil
}

// Queue returns the accepted waiting messages of the channel, in running order. Queue
// returns none for a channel without waiting messages.
func (m *Manager) Queue(ctx context.Context, key core.ChannelKey) ([]core.Message, error) {
	l, ok := m.lanes.find(key)
	if !ok {
		return nil, nil
	}
	all, err := ask(ctx, l.channel, func() (all []core.Message) {
		for _, it := range l.queue.items {
			if it.durable {
				all = append(all, *it.msg)
			}
		}
		return all
	})
	if errors.Is(err, errRetired) {
		return nil, nil
	}
	return all, err
}

// Cancel removes a waiting message from the queue. Errors: ErrNotFound, and ErrNotWaiting
// together with the message's present state.
func (m *Manager) Cancel(ctx context.Context, id core.MessageID) (core.Message, error) {
	err := m.waiting(ctx, id, (*intake).cancel)
	switch {
	case err == nil:
		return m.Lookup.Wait(ctx, id)
	case !errors.Is(err, core.ErrNotWaiting):
		return core.Message{}, err
	}
	msg, readErr := m.o.Ledger.Message(ctx, id)
	if readErr != nil {
		return core.Message{}, readErr
	}
	return msg, err
}

// Amend replaces the content of a waiting message. When Amend returns without an error, the
// new content is durable and is sent to the agent. A source key stays bound to the content
// first submitted. Errors: ErrNotFound; ErrNotWaiting when the message runs or has an
// outcome (Message returns the state); ErrBadContent; storage errors; ErrClosed.
func (m *Manager) Amend(ctx context.Context, id core.MessageID, c core.Content) error {
	if err := core.CheckContent(c); err != nil {
		return err
	}
	return m.waiting(ctx, id, func(in *intake, it *queued, done func(error)) { in.amend(it, c, done) })
}

// RunNow puts a waiting message durably first in the channel's queue, and interrupts the
// turn running at the time of the call, never a later turn. The message becomes the first of
// the next turn, coalesced as usual with the messages waiting behind. On a channel parked
// without a known end, the message is tried at once. RunNow returns when the order is
// durable, before the turn has ended. Errors: ErrNotFound, ErrNotWaiting, storage errors,
// ErrClosed.
func (m *Manager) RunNow(ctx context.Context, id core.MessageID) error {
	return m.waiting(ctx, id, (*intake).runNow)
}

// waiting runs change on a waiting message, and returns the error reported by change.
func (m *Manager) waiting(ctx context.Context, id core.MessageID, change func(*intake, *queued, func(error))) error {
	for {
		t, ok := m.tickets.find(id)
		if !ok {
			break
		}
		l, ok := m.lanes.find(t.Message.Channel)
		if !ok {
			break
		}
		err := perform(ctx, l.channel, func(done func(error)) {
			l.intake.change(id, func(it *queued, done func(error)) { change(l.intake, it, done) }, done)
		})
		switch {
		case errors.Is(err, errRetired): // the message has an outcome
			continue
		case errors.Is(err, core.ErrNotWaiting):
			return fmt.Errorf("message %s: %w", id, err)
		}
		return err
	}
	msg, err := m.o.Ledger.Message(ctx, id)
	if err != nil {
		return err
	}
	return fmt.Errorf("message %s is %s: %w", id, msg.State, core.ErrNotWaiting)
}

// Interrupt ends the running turn of a channel, keeps the session, and returns when the turn
// has ended. If turn is not empty, Interrupt only ends the turn with the given id, to
// protect the next turn from a late request. Errors: ErrNothingRuns without a running turn;
// ErrNotFound for an unknown channel; ErrUnwritten when the turn has ended and the ledger
// cannot write the outcome now; ErrClosed, together with the chosen turn, at the end of the
// manager, so that the next process does not choose again.
func (m *Manager) Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error) {
	l, ok := m.lanes.find(key)
	if !ok {
		if _, err := m.Directory.Channel(ctx, key); err != nil {
			return core.Interruption{}, err
		}
		return core.Interruption{}, fmt.Errorf("channel %q: %w", key, core.ErrNothingRuns)
	}
	started := time.Now()
	ended := make(chan error, 1)
	hit, err := ask(ctx, l.channel, func() core.Interruption {
		f := l.turns.running()
		if f == nil || turn != "" && f.turn.ID != turn {
			return core.Interruption{}
		}
		l.turns.interrupt(f, &stop{
			reply:   interruption("Interrupted on request."),
			waiters: []func(error){func(unwritten error) { ended <- unwritten }},
		})
		return core.Interruption{Turn: f.turn.ID, Messages: slices.Clone(f.turn.Members)}
	})
	switch {
	case errors.Is(err, errRetired), err == nil && hit.Turn == "":
		return hit, fmt.Errorf("channel %q: %w", key, core.ErrNothingRuns)
	case err != nil:
		return hit, err
	}
	unwritten, err := await(ctx, l.channel, ended)
	if unwritten != nil {
		err = fmt.Errorf("%w: %w", core.ErrUnwritten, unwritten)
	}
	hit.Took = time.Since(started)
	return hit, err
}

// Reset ends the channel's session and forgets the session id; the history stays. Open
// messages are cancelled. Reset returns when the processes are gone. Errors: ErrNotFound if
// the channel has neither a history nor a session.
func (m *Manager) Reset(ctx context.Context, key core.ChannelKey) error {
	if _, err := m.Directory.Channel(ctx, key); err != nil {
		return err
	}
	return m.closeChannel(ctx, key, (*lane).reset)
}

// closeChannel ends the channel's session by closing, a method of the channel's lane.
func (m *Manager) closeChannel(ctx context.Context, key core.ChannelKey, closing func(l *lane, done func(error))) error {
	for {
		l, err := m.lanes.findOrStart(key, nil)
		if err != nil {
			return err
		}
		err = perform(ctx, l.channel, func(done func(error)) { closing(l, done) })
		if !errors.Is(err, errRetired) { // else the lane retired before the reset
			return err
		}
	}
}

// Remove ends the channel's session and removes the channel with its history, settings and rules. What
// was counted and spent stays. A channel with open messages is not removed: Remove takes no outcome
// away before it was told. Errors: ErrNotFound, ErrBusy, and storage errors, after which the session
// is ended and nothing else has changed.
func (m *Manager) Remove(ctx context.Context, key core.ChannelKey) (core.Removal, error) {
	before, err := m.Directory.Channel(ctx, key)
	if err != nil {
		return core.Removal{}, err
	}
	if err := m.closeChannel(ctx, key, (*lane).resetIdle); err != nil {
		return core.Removal{}, err
	}
	if err := core.WriteAndWait(ctx, m.o.Ledger, core.Change{Forget: []core.ChannelKey{key}}, nil); err != nil {
		return core.Removal{}, fmt.Errorf("remove channel %q: %w", key, err)
	}
	after, err := m.Directory.Channel(ctx, key)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return core.Removal{Messages: max(0, before.Messages-after.Messages), Kept: after.Messages}, err
}
