package lanes

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"bareclaw/core"
)

// admit adds a new message to the queue, or refuses the message.
//
// An idle lane freezes the turn at once, to make message and turn durable in one sync.
// Otherwise the message is written separately. A message with a source key is always written
// separately, because the message may be a duplicate.
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
	if !it.written && !it.refused { // meanwhile the budget was spent or the settings changed elsewhere
		l.accept(it)
	}
}

// admitOrRefuse calls admit, and refuses the message if admit panics before the message is
// in the queue.
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

// refuse ends a message without acceptance.
func (l *lane) refuse(it *queued, err error) {
	it.refused = true
	l.manager.tickets.drop(it.msg.ID)
	it.notifyAccepted(err)
}

// idle reports whether the only waiting message can be dispatched at once.
func (l *lane) idle() bool {
	return len(l.pending) == 1 && l.canDispatch()
}

// canDispatch reports whether a turn can begin now. canDispatch has side effects: for lack
// of a session slot, the lane queues for a slot; for lack of money, the lane parks or
// replaces the session; and a session with outdated settings is replaced.
func (l *lane) canDispatch() bool {
	return !l.reordering && len(l.inflight) == 0 && l.busy == "" && l.parked == nil && l.withinDailyBudget() && l.replaceIfBudgetSpent() && l.replaceIfStale() && (l.session != nil || l.acquireSlot())
}

// accept writes the message to the ledger separately from a turn.
func (l *lane) accept(it *queued) {
	it.written = true
	c := core.Change{Accept: []*core.Message{it.msg}}
	if it.decides != nil {
		c.Approvals, c.Deliver = []*core.Approval{it.decides}, l.manager.Adapters.ForApprovals(it.decides)
	}
	l.manager.o.Ledger.Write(c, func(err error) {
		if err == nil {
			l.manager.Adapters.HandOver(c.Deliver)
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

// applyMode acts on the mode of a waiting message. Call applyMode only for a durable
// message: a refused or duplicate message must not affect the running turn.
func (l *lane) applyMode(it *queued) {
	l.interruptFor(it)
	if f := l.running(); f != nil && it.msg.Mode == core.Steer {
		l.steer(it, f)
	}
}

// interruptFor interrupts the turn named in the message, if still running, and never a later
// turn.
func (l *lane) interruptFor(it *queued) {
	if it.msg.Interrupts == "" {
		return
	}
	if f := l.findInflight(it.msg.Interrupts); f != nil && !f.answered {
		l.interrupt(f, &stop{code: core.CodeInterrupted, text: "Interrupted by a newer message."})
	}
}

// announceAccepted reports the acceptance to the submitter and to subscribers.
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

// cancel settles a waiting message as cancelled, and calls done once the outcome is durable.
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
