package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
)

// sessionGone cleans up and starts recovery after the session's process, or the session
// host, has ended.
func (l *lane) sessionGone() {
	switch e := l.exit; {
	case l.ending:
		l.log.Info("session ended")
	case e != nil:
		l.log.Info("session ended", "reason", e.Text)
	default:
		l.log.Warn("session host lost")
	}
	l.session.acks.ack = nil
	l.session = nil
	l.gauge.sessions.Store(0)
	l.voidAsked(func(*pendingApproval) bool { return true })
	for _, f := range slices.Clone(l.inflight) {
		if f.answered {
			f.cancelTimer()
			l.removeFlight(f)
		}
	}
	if l.resetting != nil {
		l.resetting()
		return
	}
	l.recover(l.inflight)
}

// A fateRecord is the result of reading a turn's fate.
type fateRecord struct {
	fate core.Fate
	err  error
}

// addFate records the fate's facts, needed if the turn's messages go back to the queue.
func (f *inflight) addFate(r fateRecord) {
	f.toolBegun = f.toolBegun || r.fate.ToolBegun
	f.fateUnknown = f.fateUnknown || r.err != nil
}

// fold records f as folded into another open turn, if the fate names such a turn, and
// reports whether f is folded. A tool begun by f counts as begun by the enclosing turn too.
func (l *lane) fold(f *inflight, fate core.Fate) bool {
	into := l.findInflight(fate.Into)
	if into == nil || into == f || into.answered || f.answered {
		return false
	}
	if !slices.Contains(into.folded, f) {
		into.folded = append(into.folded, f)
	}
	into.toolBegun = into.toolBegun || f.toolBegun
	return true
}

// describeProgress describes for a person the turn's completed work, from the agent's record
// or else from the turn's events.
func (f *inflight) describeProgress(fate core.Fate) string { return cmp.Or(fate.Done, f.toolsSeen()) }

// recover reads the fate of turns abandoned by the agent and continues accordingly. Without
// a session, recover first ends leftover processes. No turn is dispatched meanwhile. Turns
// not yet frozen were never handed over and need no recovery.
func (l *lane) recover(turns []*inflight) {
	l.busy = "recovering"
	l.recovery++
	nth, reap := l.recovery, l.session == nil
	sessions := map[*inflight]string{}
	for _, f := range turns {
		if f.frozen {
			sessions[f] = f.turn.SessionID
		}
	}
	l.async(func(ctx context.Context) func() {
		var err error
		if reap {
			err = l.manager.o.Agent.Reap(ctx, l.key)
		}
		records := map[*inflight]fateRecord{}
		for f, session := range sessions {
			fate, err := l.manager.o.Agent.Fate(ctx, l.key, session, f.turn.ID)
			records[f] = fateRecord{fate, err}
		}
		return func() {
			if err != nil {
				l.log.Error("old processes not ended", "err", err)
			}
			if nth == l.recovery { // else a later session has died, and a newer recovery is reading all fates
				l.applyFates(records)
			}
		}
	})
}

// applyFates decides each turn by the recorded fate. An answer is delivered, a turn not
// begun or without tools runs again under the same uuid, and a turn with a tool begun is
// reported as interrupted.
func (l *lane) applyFates(records map[*inflight]fateRecord) {
	stopped := func(f *inflight) bool { return f.stop != nil && f.handed } // the stop may have ended the process
	refused := l.session == nil && l.exit != nil && l.exit.Reason != core.ExitOther && !slices.ContainsFunc(l.inflight, stopped)
	restarted := refused && l.prepareRestart()
	turns := slices.Clone(l.inflight)
	folded := map[*inflight]int{}
	for f, r := range records {
		if l.fold(f, r.fate) {
			folded[f] = 1
		}
	}
	// Folded turns come last, to share an outcome decided for the enclosing turn.
	slices.SortStableFunc(turns, func(a, b *inflight) int { return folded[a] - folded[b] })
	for _, f := range turns {
		r, known := records[f]
		if !known || f.answered {
			continue
		}
		f.addFate(r)
		switch {
		case f.stop != nil && !r.fate.Answered && !r.fate.Failed:
			l.finish(f, f.stopReply(f.describeProgress(r.fate)))
			l.release(f)
		case restarted && f.handed:
			f.handed, f.attempts = false, f.attempts-1 // the agent did not accept the turn
		case refused && f.handed && !restarted:
			l.finish(f, l.withUndo(exitReply(l.exit, 1)))
			l.release(f)
		case l.applyFate(f, r):
			f.handed, f.agentDone, f.spoke, f.holds, f.lastExit = false, false, false, nil, l.exit
			f.started = time.Time{}
			f.fateUnknown = false // the turn had no effect, and the lane observes the new run from the start
		}
	}
	for _, f := range l.inflight {
		if !f.answered {
			f.folded = nil // each turn runs again separately
		}
	}
	l.unattributedResult = nil
	if l.ending {
		l.ending = false
		l.releaseSlot()
	}
	l.proceed()
}

// applyFate settles the turn, or reports true if the turn is to be handed over again.
func (l *lane) applyFate(f *inflight, r fateRecord) (again bool) {
	switch {
	case r.err == nil && r.fate.Answered:
		l.finish(f, core.Reply{State: core.Answered, Text: r.fate.Text, SessionID: f.turn.SessionID})
	case r.err == nil && r.fate.Failed:
		l.finish(f, failedReply(r.fate))
	case l.unattributedResult != nil && f.handed:
		l.finish(f, resultReply(l.unattributedResult, f))
	case r.err != nil && f.attempts > 0:
		l.about(f).Error("fate of turn unknown", "err", r.err)
		l.finish(f, interruptedReply("The turn was cut, and its record cannot be read ("+r.err.Error()+").", f.describeProgress(r.fate)))
	case r.fate.ToolBegun || f.toolBegun || r.fate.Interrupted:
		l.finish(f, interruptedReply("The turn was interrupted: "+l.endOf()+".", f.describeProgress(r.fate)))
	case f.attempts >= maxAttempts:
		l.finish(f, exitReply(l.exit, f.attempts))
	default:
		if f.attempts > 0 {
			l.manager.stats.resent.Add(1)
			l.about(f).Info("turn is handed over again", "begun", r.fate.Begun, "attempts", f.attempts)
		}
		f.mark(l.now(), "resent", "")
		return true
	}
	l.release(f)
	return false
}

// endOf returns the reason for the session's end, as part of a sentence.
func (l *lane) endOf() string {
	if l.exit != nil {
		return strings.TrimSuffix(l.exit.Text, ".")
	}
	return "the process that worked on it is gone"
}

// prepareRestart prepares the next start after the agent refused to resume an unknown
// session id or to begin an existing session id. prepareRestart reports false if the agent
// could not start at all, or refused more than maxAttempts times.
func (l *lane) prepareRestart() bool {
	l.startRefusals++
	if l.exit.Reason == core.ExitStartFailed || l.startRefusals > maxAttempts {
		l.startRefusals = 0
		return false
	}
	if l.exit.Reason == core.ExitUnknownSession {
		l.startFreshSession()
	}
	return true
}

// restore loads the open records of an earlier process and looks for the session host.
func (l *lane) restore(r *recovered) {
	items := map[core.MessageID]*queued{}
	for _, msg := range r.messages {
		it := &queued{msg: msg, written: true, durable: true, requeueWhenParked: true}
		items[msg.ID] = it
		if msg.State == core.Waiting {
			l.pending = append(l.pending, it)
		}
	}
	for _, t := range r.turns {
		f := &inflight{turn: t, frozen: true, attempts: 1, fateUnknown: true} // assume a handover by the earlier process
		for _, id := range t.Members {
			if it := items[id]; it != nil {
				f.members = append(f.members, it)
			}
		}
		if len(f.members) == 0 {
			l.log.Error("open turn without open messages", "turn", t.ID)
			continue
		}
		l.inflight = append(l.inflight, f)
		if l.sessionID == "" || t.Opens {
			l.sessionID = t.SessionID // the turn was frozen just before the session id was saved
		}
	}
	l.busy, l.attaching = "looking for the session host", true
	for _, it := range l.pending {
		l.interruptFor(it) // the earlier process may have ended before the interrupt
	}
	id := l.sessionID
	l.manager.wg.Go(func() {
		s, err := l.manager.o.Agent.Attach(l.manager.ctx, l.key)
		use, uerr := l.manager.o.Ledger.SessionUse(l.manager.ctx, id)
		paid, perr := l.manager.o.Ledger.Backgrounds(l.manager.ctx, l.key, countedAtMost)
		if err := errors.Join(uerr, perr); err != nil {
			l.log.Warn("cost of session not known", "err", err)
		}
		l.post(func() { // also when the lane is leaving
			l.cost.setCounted(paid)
			l.attached(s, err, use.TotalCost, r.approvals)
		})
	})
}

// attached continues with the session host found by restore, or recovers without a host.
func (l *lane) attached(s core.Session, err error, cost float64, approvals []*core.Approval) {
	l.attaching = false
	if l.detachIfLeaving(s) {
		return
	}
	if err != nil {
		if !errors.Is(err, core.ErrNoHost) {
			l.log.Warn("session host not attached", "err", err)
		}
		l.restoreAsked(approvals)
		l.voidAsked(func(*pendingApproval) bool { return true })
		l.recover(l.inflight)
		return
	}
	l.adopt(s)
	l.cost.attach(l.sessionID, cost)
	l.session.background.expectNews(true) // the agent may be reporting ended tasks
	if l.sessionID == "" {
		l.sessionID = l.session.info.SessionID
	}
	l.rememberSession(func() {}) // the earlier process may have died before saving the id
	l.log.Info("session attached", "host_pid", l.session.info.HostPID, "turns_in_flight", len(l.inflight))
	l.restoreAsked(approvals)
	l.syncAsked()
	l.session.replayed = l.finishedTurns(l.session.info.Working)
	var unknown []*inflight
	for _, f := range l.inflight {
		if l.session.info.Knows(f.turn.ID) {
			f.handed, f.attempts = true, 1 // at least one handover; the true count is unknown
			if l.session.info.Begun(f.turn.ID) {
				f.started = f.turn.BegunAt
			}
			f.mark(l.now(), core.MarkTakenOver, "")
			if f.stop != nil { // requested before the host was found
				l.requestEnd(f)
			}
			l.startTimeout(f)
			continue
		}
		unknown = append(unknown, f)
	}
	l.recover(unknown) // not handed to the present process, but perhaps to an earlier process
}

// abandon fails all messages of the channel and ends the session, after which the channel
// can be used again. The conversation is kept: the next message resumes the session.
func (l *lane) abandon() {
	l.handled()
	attaching := l.attaching
	l.busy, l.parked, l.retriedPark, l.reordering = "recovering from a fault", nil, nil, false
	reply := core.Reply{State: core.Failed, IsError: true, Code: core.CodeInternal, Error: internalText, Text: internalText}
	for _, f := range slices.Clone(l.inflight) {
		switch {
		case f.answered:
		case f.frozen:
			l.finish(f, reply)
		case f.stop == nil: // freezeDone or unfreeze handles the stop
			f.stop = &stop{code: reply.Code, text: reply.Error, failed: true}
		}
	}
	var failed outcomes
	kept := l.pending[:0:0]
	for _, it := range l.pending {
		switch {
		case it.durable:
			failed.set(it, reply)
		case it.written: // acceptDone decides
			kept = append(kept, it)
		default:
			l.refuse(it, errInternal)
		}
	}
	l.pending = kept
	l.commitOutcomes(failed)
	switch {
	case l.session != nil: // sessionGone continues
		_ = l.session.Stop(core.StopNow) // the session ends even after an error
	case attaching: // attached continues
	case l.resetting != nil: // the end of the reset continues
	default:
		l.recover(slices.DeleteFunc(slices.Clone(l.inflight), func(f *inflight) bool { return f.answered }))
	}
}

// finishedTurns returns the turns with an outcome.
func (l *lane) finishedTurns(turns []core.TurnID) (all []core.TurnID) {
	for _, id := range turns {
		if l.findInflight(id) == nil {
			all = append(all, id)
		}
	}
	return all
}

func (l *lane) reset(done chan<- error) {
	moving := slices.ContainsFunc(l.pending, func(it *queued) bool { return it.moving })
	if l.resetting != nil || l.busy != "" || l.opening || l.saving > 0 || moving || l.reordering {
		l.retryLater(func() { l.reset(done) })
		return
	}
	l.busy = "closing the channel" // first: ending a turn below must not dispatch another turn
	l.parked, l.retriedPark = nil, nil
	reply := core.Reply{State: core.Cancelled, Code: core.CodeReset, Error: "The conversation was closed before this message was answered."}
	for _, f := range slices.Clone(l.inflight) {
		if !f.answered && f.frozen {
			l.finish(f, reply)
		}
		if f.stop == nil {
			f.stop = &stop{code: core.CodeReset, text: reply.Error} // for a turn being frozen
		}
	}
	var v outcomes
	for _, it := range l.pending {
		if it.durable {
			v.set(it, reply)
		}
	}
	l.commitOutcomes(v)
	l.pending = slices.DeleteFunc(l.pending, func(it *queued) bool { return it.durable })
	l.resetting = func() {
		l.async(func(ctx context.Context) func() {
			err := errors.Join(l.manager.o.Agent.Reap(ctx, l.key), l.manager.o.Sessions.Forget(l.key), l.manager.Decider.voidContinues(ctx, l.key))
			return func() {
				if err != nil {
					err = fmt.Errorf("close channel %q: %w", l.key, err)
				}
				l.resetting, l.sessionID, l.unopened, l.exit = nil, "", false, nil
				done <- err
				l.proceed()
			}
		})
	}
	if l.session == nil {
		l.resetting()
		return
	}
	_ = l.session.Stop(core.StopNow) // Events closes even after an error
}
