package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/sessionpool"
)

// A lane owns one channel's queue, turns in flight and agent session. A single goroutine
// owns all of the lane's state, and receives work through the mailbox and the session's
// events. The state belongs to components; a component knows only the components declared
// before the component.
//
//	intake ─► queue ─► freeze ─► turns ─► hand ─► listener ─► finish
//	                               ▲                 │
//	                               └── recovery ◄────┘ session gone
type lane struct {
	*channel
	queue    *queue
	conv     *conversation
	desk     *approvalDesk
	calls    *toolRequests
	turns    *turns
	recovery *recovery
	listener *listener
	intake   *intake

	timer     timer
	resetting func() // set during Reset: runs after the session's end
}

func newLane(m *Manager, key core.ChannelKey) *lane {
	c := newChannel(m, key)
	l := &lane{channel: c}
	l.queue = &queue{channel: c, delay: func() string { return cmp.Or(l.conv.session.blocked(), l.conv.waitsFor(), l.conv.slotWait()) }}
	l.conv = &conversation{channel: c, queue: l.queue, slot: m.pool.Slot(sessionpool.People, c.post, l.evict)}
	l.conv.id, _ = m.o.Sessions.Get(key)
	l.desk = &approvalDesk{channel: c, conv: l.conv, pending: map[string]*pendingApproval{}, ended: map[string]core.Approval{}}
	l.calls = &toolRequests{channel: c, conv: l.conv, running: map[string]*toolRequest{}}
	l.turns = &turns{channel: c, queue: l.queue, conv: l.conv, desk: l.desk}
	l.recovery = &recovery{channel: c, queue: l.queue, conv: l.conv, desk: l.desk, calls: l.calls, turns: l.turns}
	l.listener = &listener{
		channel:  c,
		queue:    l.queue,
		conv:     l.conv,
		desk:     l.desk,
		calls:    l.calls,
		turns:    l.turns,
		recovery: l.recovery,
		ownTurns: &ownTurns{channel: c, conv: l.conv, turns: l.turns},
	}
	l.intake = &intake{channel: c, queue: l.queue, conv: l.conv, turns: l.turns, advance: l.advance}
	return l
}

// run serves the channel until ctx ends or the lane retires. When ctx ends, run detaches
// from the session and leaves the session running.
func (l *lane) run(ctx context.Context, r *recovered) {
	defer close(l.done)
	if r != nil {
		l.recovery.restore(r)
	}
	for over := false; !over; {
		l.guard(func() { over = l.step(ctx) }, l.abandon)
	}
}

// step waits for one event or mailbox wake-up, handles the input, and reports whether the
// lane is over.
func (l *lane) step(ctx context.Context) (over bool) {
	l.advance()
	l.retry(l.advance)
	l.updateSlot()
	if l.retire() {
		return true
	}
	l.setTimer()
	select {
	case <-ctx.Done():
		l.leave()
		return true
	case <-l.mailbox.wake:
		l.mailbox.drain(l.advance)
	case batch, ok := <-l.conv.events():
		if !ok {
			l.sessionEnded()
			break
		}
		l.conv.session.activity.touch()
		for i := range batch.Events {
			l.listener.handle(&batch.Events[i])
			l.advance()
		}
		batch.Free()
		l.handled()
		l.turns.endStopped()
	}
	return false
}

// advance does what the present state allows: hands over frozen turns, and begins the next
// turn. advance runs after everything that may change the state.
func (l *lane) advance() {
	if l.isBusy() {
		return
	}
	for _, f := range l.turns.list {
		l.turns.hand(f)
	}
	for l.canDispatch() && l.prepareDispatch() {
		l.turns.freeze(l.queue.batchSize(), false)
	}
}

func (l *lane) canDispatch() bool {
	return !l.isBusy() && len(l.turns.list) == 0 && l.queue.parked == nil &&
		!l.queue.reordering && len(l.queue.items) > 0 && l.queue.items[0].isReady()
}

// prepareDispatch reports whether a turn can begin now. Without a session slot, the lane
// queues for a slot; with a spent budget, the lane parks or replaces the session. A session
// with outdated settings is replaced, unless background tasks, the report of ended tasks,
// pending approvals or calls of tools keep the process: then the turn runs with the old settings.
func (l *lane) prepareDispatch() bool {
	switch {
	case !l.queue.withinDailyBudget():
		return false
	case l.conv.turnBudgetSpent():
		l.conv.end("a part of a turn's budget is spent")
		return false
	case l.conv.settingsStale() && !l.conv.session.background.keepsSettings() && len(l.desk.pending) == 0 && len(l.calls.running) == 0:
		l.conv.end("its channel has other settings")
		return false
	}
	waited := l.conv.slot.Waiting()
	if l.conv.session != nil || l.conv.slot.Acquire() {
		return true
	}
	if !waited {
		l.queue.announceDelay()
	}
	return false
}

func (l *lane) sessionEnded() {
	l.recovery.sessionGone()
	if l.resetting != nil {
		l.resetting()
		return
	}
	l.recovery.recover(l.turns.list)
}

// leaveTimeout bounds how long a closing lane waits for a session being started or attached.
const leaveTimeout = 5 * time.Second

// leave ends the lane and leaves the session running. Before returning, leave reports
// acceptance to waiting submitters, passes decisions being written to the agent, and
// detaches from a session being started or attached.
//
// leave waits for ledger writes without a limit. Data passed to the ledger is written at the
// latest when the ledger closes, so a submitter receiving an error would send the message a
// second time.
func (l *lane) leave() {
	l.beginOperation(leaving)
	patience := time.After(leaveTimeout)
	for late := false; ; {
		l.mailbox.drain(l.advance) // again when late: functions posted meanwhile may be queued
		starting := l.conv.opening || l.conv.attaching
		if !l.admitting() && !l.desk.isDeciding() && (late || !starting) {
			if starting {
				l.log.Error("left while a session was being started")
				return
			}
			break
		}
		select {
		case <-l.mailbox.wake:
		case <-patience:
			late = true
		}
	}
	if l.timer.timer != nil {
		l.timer.timer.Stop()
	}
	for _, f := range l.turns.list {
		f.cancelTimer()
	}
	for _, a := range l.desk.pending {
		a.timer.Stop()
	}
	if l.conv.session != nil {
		l.manager.Feeds.SetPublishedUpTo(l.key, l.conv.session.host(), l.conv.session.acks.last)
		l.conv.session.Detach()
	}
}

// admitting reports whether a submitter waits for the acceptance of a message.
func (l *lane) admitting() bool {
	waits := func(it *queued) bool { return it.ticket != nil }
	return slices.ContainsFunc(l.queue.items, waits) ||
		slices.ContainsFunc(l.turns.list, func(f *inflight) bool { return slices.ContainsFunc(f.members, waits) })
}

// abandon fails all messages of the channel and ends the session, after which the channel
// can be used again. The conversation is kept: the next message resumes the session.
func (l *lane) abandon() {
	l.handled()
	wasAttaching := l.conv.attaching
	l.queue.parked, l.queue.retried, l.queue.reordering = nil, nil, false
	l.beginOperation(afterFault)
	l.turns.endAll(failure(core.CodeInternal, internalText))
	l.queue.items = slices.DeleteFunc(l.queue.items, func(it *queued) bool {
		if !it.written { // else acceptDone decides
			l.queue.refuse(it, errInternal)
		}
		return !it.written
	})
	switch {
	case l.conv.session != nil: // sessionGone continues
		_ = l.conv.session.Stop(core.StopNow) // the session ends even after an error
	case wasAttaching: // attached continues
	case l.resetting != nil: // the end of the reset continues
	default:
		l.recovery.recover(slices.DeleteFunc(slices.Clone(l.turns.list), func(f *inflight) bool { return f.answered }))
	}
}

// resetIdle is reset for a lane without open messages; the error is ErrBusy for any other lane.
func (l *lane) resetIdle(done func(error)) {
	if len(l.queue.items)+len(l.turns.list) > 0 {
		done(fmt.Errorf("channel %q: %w", l.key, core.ErrBusy))
		return
	}
	if !l.canReset() {
		l.retryLater(func() { l.resetIdle(done) })
		return
	}
	l.reset(done)
}

// canReset reports whether nothing is under way that a reset would cut.
func (l *lane) canReset() bool {
	moving := slices.ContainsFunc(l.queue.items, func(it *queued) bool { return it.moving })
	return l.resetting == nil && !l.isBusy() && !l.conv.opening && l.conv.saving == 0 && !moving && !l.queue.reordering
}

func (l *lane) reset(done func(error)) {
	if !l.canReset() {
		l.retryLater(func() { l.reset(done) })
		return
	}
	l.queue.parked, l.queue.retried = nil, nil
	l.beginOperation(resetting)
	l.turns.endAll(core.Reply{State: core.Cancelled, Code: core.CodeReset, Error: "The conversation was closed before this message was answered."})
	l.resetting = func() {
		l.async(func(ctx context.Context) func() {
			err := errors.Join(l.manager.o.Agent.Reap(ctx, l.key), l.manager.o.Sessions.Forget(l.key), l.manager.Decider.voidContinues(ctx, l.key))
			return func() {
				if err != nil {
					err = fmt.Errorf("close channel %q: %w", l.key, err)
				}
				l.resetting, l.conv.id, l.conv.unopened, l.conv.exit, l.conv.held = nil, "", false, nil, nil
				done(err)
				l.endOperation()
			}
		})
	}
	if l.conv.session == nil {
		l.resetting()
		return
	}
	_ = l.conv.session.Stop(core.StopNow) // Events closes even after an error
}

// retire ends a lane without work or unsaved state, because a known channel must not cost a
// goroutine, and reports whether the lane ended. A message arriving meanwhile finds the
// mailbox closed, or keeps the lane.
func (l *lane) retire() bool {
	if !l.empty() {
		return false
	}
	if !l.manager.lanes.remove(l) {
		return false
	}
	if l.timer.timer != nil {
		l.timer.timer.Stop()
	}
	return true
}

// empty reports whether the lane can end without a loss: without messages, a session, a
// write under way, and state known only to the lane.
func (l *lane) empty() bool {
	return l.conv.session == nil && len(l.queue.items) == 0 && len(l.turns.list) == 0 && len(l.desk.pending) == 0 &&
		!l.isBusy() && !l.conv.opening && l.conv.saving == 0 && l.journal.isIdle() && l.resetting == nil &&
		l.queue.parked == nil && l.conv.slot.Free() && !l.conv.unopened &&
		len(l.turns.notices) == 0 && l.conv.isSaved()
}
