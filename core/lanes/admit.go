package lanes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"bareclaw/core"
)

// admit takes a new message into the queue, or refuses it.
//
// An idle lane freezes the turn at once, so that the message and its turn become
// durable in one sync. Otherwise the message is written by itself. A message
// with a source key always is: it may turn out to be a duplicate.
func (l *lane) admit(it *queued) {
	if limit := l.manager.o.QueueLimit; l.open() >= limit {
		l.manager.stats.refused.Add(1)
		l.refuse(it, fmt.Errorf("%w: channel already holds %d messages", core.ErrQueueFull, limit))
		return
	}
	l.onArrivalWhileParked(it)
	if f := l.running(); f != nil && it.msg.Mode == core.Interrupt {
		it.msg.Interrupts = f.turn.ID
	}
	l.pending = append(l.pending, it)
	if it.msg.SourceKey != "" || it.decides != nil || !l.idle() {
		l.accept(it)
	}
	l.dispatch()
	if !it.written && !it.refused { // what others spend or change meanwhile is in its way now
		l.accept(it)
	}
}

// admitOrRefuse is admit. It refuses the message if admit panics before the message is in
// the queue.
func (l *lane) admitOrRefuse(it *queued) {
	defer func() {
		if it.ticket != nil && !it.written && !it.refused && !l.tracks(it) {
			l.refuse(it, errInternal)
		}
	}()
	l.admit(it)
}

// tracks reports whether the message is in the queue or part of a turn.
func (l *lane) tracks(it *queued) bool {
	return slices.Contains(l.pending, it) ||
		slices.ContainsFunc(l.inflight, func(f *inflight) bool { return slices.Contains(f.members, it) })
}

// refuse ends a message that was not accepted.
func (l *lane) refuse(it *queued, err error) {
	it.refused = true
	l.manager.tickets.drop(it.msg.ID)
	it.notifyAccepted(err)
}

// idle reports whether the newest message can be dispatched right away.
func (l *lane) idle() bool {
	return len(l.pending) == 1 && l.canDispatch()
}

// mayBegin reports whether what waits can be begun now. If it is only for want of a
// session, the lane queues for one; if it is for want of money, it is parked or
// replaces its session, as it does if that was started with other settings.
func (l *lane) canDispatch() bool {
	return !l.reordering && l.pauses == 0 && len(l.inflight) == 0 && l.busy == "" && l.parked == nil && l.withinDailyBudget() && l.replaceIfBudgetSpent() && l.replaceIfStale() && (l.session != nil || l.acquireSlot())
}

// accept makes the message durable by itself.
func (l *lane) accept(it *queued) {
	it.written = true
	c := core.Change{Accept: []*core.Message{it.msg}}
	if it.decides != nil {
		c.Approvals, c.Deliver = []*core.Approval{it.decides}, l.manager.deliveriesOf(it.decides)
	}
	l.manager.o.Ledger.Write(c, func(err error) {
		if err == nil {
			l.manager.notifyDeliveryHandlers(c.Deliver)
		}
		l.post(func() { l.acceptDone(it, err) })
	})
}

func (l *lane) acceptDone(it *queued, err error) {
	if err != nil {
		l.pending = slices.DeleteFunc(l.pending, func(other *queued) bool { return other == it })
		l.refuse(it, err)
		if dup := (*core.DuplicateError)(nil); !errors.As(err, &dup) {
			l.log.Warn("message refused", "message", string(it.msg.ID), "err", err)
		}
		return
	}
	it.durable = true
	l.announceAccepted(it)
	if a := it.decides; a != nil {
		l.publish(core.Update{Kind: core.UpdateApprovalClosed, Approval: a, Turn: a.Turn})
	}
	if l.position(it.msg.ID) > 0 {
		l.applyMode(it)
	}
	l.dispatch()
}

// press does what the mode of a waiting message asks for. Not before the message
// is durable: what is refused, or a duplicate, must not touch the running turn.
func (l *lane) applyMode(it *queued) {
	l.interruptFor(it)
	if f := l.running(); f != nil && it.msg.Mode == core.Steer {
		l.steer(it, f)
	}
}

// interruptFor ends the turn that a waiting message interrupts, if it still runs, and
// never a later one.
func (l *lane) interruptFor(it *queued) {
	if it.msg.Interrupts == "" {
		return
	}
	if f := l.findInflight(it.msg.Interrupts); f != nil && !f.answered {
		l.interrupt(f, &stop{code: core.CodeInterrupted, text: "Interrupted by a newer message."})
	}
}

// welcome tells everybody that the message is accepted.
func (l *lane) announceAccepted(it *queued) {
	parked := l.parked != nil && l.position(it.msg.ID) > 0
	if parked {
		l.tellParked(it)
	}
	it.notifyAccepted(nil)
	if l.log.Enabled(l.manager.ctx, slog.LevelDebug) {
		l.log.Debug("message accepted", "message", string(it.msg.ID), "adapter", it.msg.Adapter, "mode", it.msg.Mode, "turn", string(it.msg.Turn),
			"text", it.msg.Prompt.Text, "blocks", len(it.msg.Prompt.Blocks))
	}
	if !l.listening() {
		return
	}
	msg := *it.msg
	l.publish(core.Update{Kind: core.UpdateAccepted, Message: &msg})
	if pos := l.position(msg.ID); pos > 0 {
		l.publish(core.Update{Kind: core.UpdateQueued, Message: &msg, Position: pos, Detail: l.why()})
	}
	if parked {
		l.publish(core.Update{Kind: core.UpdateParked, Messages: []core.MessageID{msg.ID}, Detail: l.parked.why})
	}
}

// Cancel takes a waiting message out of its queue. Errors: ErrNotFound, and
// ErrNotWaiting together with the message as it is.
func (m *Manager) Cancel(ctx context.Context, id core.MessageID) (core.Message, error) {
	err := m.waiting(ctx, id, func(l *lane, done func(error)) { l.cancel(id, done) })
	switch {
	case err == nil:
		return m.Wait(ctx, id)
	case !errors.Is(err, core.ErrNotWaiting):
		return core.Message{}, err
	}
	msg, readErr := m.o.Ledger.Message(ctx, id)
	if readErr != nil {
		return core.Message{}, readErr
	}
	return msg, err
}

// cancel settles a waiting message as cancelled, once that is durable.
func (l *lane) cancel(id core.MessageID, done func(error)) {
	it := l.settleFirst(id, done, func() { l.cancel(id, done) })
	if it == nil {
		return
	}
	l.pending = slices.DeleteFunc(l.pending, func(other *queued) bool { return other == it })
	v := outcomes{durable: func() { done(nil) }}
	v.set(it, core.Reply{State: core.Cancelled, Code: core.CodeCancelled, Error: "Cancelled before it was begun."})
	l.commitOutcomes(v)
}
