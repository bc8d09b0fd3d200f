package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// admit takes a new message into the queue, or refuses it.
//
// An idle lane freezes the turn at once, so that the message and its turn become
// durable in one sync. Otherwise the message is written by itself. A message
// with a source key always is: it may turn out to be a duplicate.
func (l *lane) admit(it *item) {
	if limit := l.m.o.QueueLimit; l.open() >= limit {
		l.m.stats.refused.Add(1)
		l.refuse(it, fmt.Errorf("%w: channel already holds %d messages", ErrQueueFull, limit))
		return
	}
	l.arrives(it)
	if f := l.running(); f != nil && it.msg.Mode == Interrupt {
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

// refuse ends a message that was not accepted.
func (l *lane) refuse(it *item, err error) {
	it.refused = true
	l.m.desk.drop(it.msg.ID)
	it.tell(err)
}

// idle reports whether the newest message can be dispatched right away.
func (l *lane) idle() bool {
	return len(l.pending) == 1 && l.mayBegin()
}

// mayBegin reports whether what waits can be begun now. If it is only for want of a
// session, the lane queues for one; if it is for want of money, it is parked or
// replaces its session, as it does if that was started with other settings.
func (l *lane) mayBegin() bool {
	return !l.reordering && l.halts == 0 && len(l.flights) == 0 && l.busy == "" && l.parked == nil && l.affordable() && l.unworn() && l.upToDate() && (l.session != nil || l.takeSeat())
}

// accept makes the message durable by itself.
func (l *lane) accept(it *item) {
	it.written = true
	c := Change{Accept: []*Message{it.msg}}
	if it.decides != nil {
		c.Approvals, c.Deliver = []*Approval{it.decides}, l.m.deliveriesOf(it.decides)
	}
	l.m.o.Ledger.Write(c, func(err error) {
		if err == nil {
			l.m.handOver(c.Deliver)
		}
		l.post(func() { l.acceptDone(it, err) })
	})
}

func (l *lane) acceptDone(it *item, err error) {
	if err != nil {
		l.pending = slices.DeleteFunc(l.pending, func(other *item) bool { return other == it })
		l.refuse(it, err)
		if dup := (*DuplicateError)(nil); !errors.As(err, &dup) {
			l.log.Warn("message refused", "message", string(it.msg.ID), "err", err)
		}
		return
	}
	it.durable = true
	l.welcome(it)
	if a := it.decides; a != nil {
		l.publish(Update{Kind: UpdateApprovalClosed, Approval: a, Turn: a.Turn})
	}
	if l.position(it.msg.ID) > 0 {
		l.press(it)
	}
	l.dispatch()
}

// press does what the mode of a waiting message asks for. Not before the message
// is durable: what is refused, or a duplicate, must not touch the running turn.
func (l *lane) press(it *item) {
	l.interruptFor(it)
	if f := l.running(); f != nil && it.msg.Mode == Steer {
		l.steer(it, f)
	}
}

// interruptFor ends the turn that a waiting message interrupts, if it still runs, and
// never a later one.
func (l *lane) interruptFor(it *item) {
	if it.msg.Interrupts == "" {
		return
	}
	if f := l.flight(it.msg.Interrupts); f != nil && !f.answered {
		l.interrupt(f, &stop{code: CodeInterrupted, text: "Interrupted by a newer message."})
	}
}

// welcome tells everybody that the message is accepted.
func (l *lane) welcome(it *item) {
	parked := l.parked != nil && l.position(it.msg.ID) > 0
	if parked {
		l.tellParked(it)
	}
	it.tell(nil)
	if l.log.Enabled(l.m.ctx, slog.LevelDebug) {
		l.log.Debug("message accepted", "message", string(it.msg.ID), "adapter", it.msg.Adapter, "mode", it.msg.Mode, "turn", string(it.msg.Turn),
			"text", it.msg.Prompt.Text, "blocks", len(it.msg.Prompt.Blocks))
	}
	if !l.listening() {
		return
	}
	msg := *it.msg
	l.publish(Update{Kind: UpdateAccepted, Message: &msg})
	if pos := l.position(msg.ID); pos > 0 {
		l.publish(Update{Kind: UpdateQueued, Message: &msg, Position: pos, Detail: l.why()})
	}
	if parked {
		l.publish(Update{Kind: UpdateParked, Messages: []MessageID{msg.ID}, Detail: l.parked.why})
	}
}

// Cancel takes a waiting message out of its queue. Errors: ErrNotFound, and
// ErrNotWaiting together with the message as it is.
func (m *ProcessManager) Cancel(ctx context.Context, id MessageID) (Message, error) {
	err := m.waiting(ctx, id, func(l *lane, done func(error)) { l.cancel(id, done) })
	switch {
	case err == nil:
		return m.Wait(ctx, id)
	case !errors.Is(err, ErrNotWaiting):
		return Message{}, err
	}
	msg, readErr := m.o.Ledger.Message(ctx, id)
	if readErr != nil {
		return Message{}, readErr
	}
	return msg, err
}

// cancel settles a waiting message as cancelled, once that is durable.
func (l *lane) cancel(id MessageID, done func(error)) {
	it := l.settleFirst(id, done, func() { l.cancel(id, done) })
	if it == nil {
		return
	}
	l.pending = slices.DeleteFunc(l.pending, func(other *item) bool { return other == it })
	v := verdict{durable: func() { done(nil) }}
	v.give(it, Reply{State: Cancelled, Code: CodeCancelled, Error: "Cancelled before it was begun."})
	l.settle(v)
}
