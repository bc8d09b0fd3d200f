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

// sessionGone takes up what is left when the session's process, or the host
// that held it, has ended.
func (l *lane) sessionGone() {
	switch e := l.exit; {
	case l.ending:
		l.log.Info("session ended")
	case e != nil:
		l.log.Info("session ended", "reason", e.Text)
	default:
		l.log.Warn("session host lost")
	}
	l.session, l.events, l.ready, l.activity, l.lastActivity = nil, nil, false, "", ""
	l.ownTurn, l.newsUntil, l.tasks, l.tools = false, time.Time{}, 0, nil
	l.holds, l.replayedTurns, l.info, l.hostBlocked = nil, nil, core.SessionInfo{}, ""
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

// A record is what could be read of a turn's fate.
type fateRecord struct {
	fate core.Fate
	err  error
}

// learn notes what the record shows, should the turn's messages be put back.
func (f *inflight) addFate(r fateRecord) {
	f.toolBegun = f.toolBegun || r.fate.ToolBegun
	f.fateUnknown = f.fateUnknown || r.err != nil
}

// fold notes that the turn shares the fate of another one, if it is so and that
// has no outcome yet, and reports whether it does. What one of them was seen to do
// they have all done.
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

// wasDone says for a person what the turn had done: as the agent's record has it, or
// else as its events showed it.
func (f *inflight) describeProgress(fate core.Fate) string { return cmp.Or(fate.Done, f.toolsSeen()) }

// recover finds out what became of turns that nobody works on any more, and goes
// on from there; without a session, what is left of its processes is ended
// first. Nothing is dispatched meanwhile. A turn that is still being frozen was
// never handed over and needs none of this.
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
			if nth == l.recovery { // else a session has died since, and all is looked up anew
				l.applyFates(records)
			}
		}
	})
}

// recovered decides each turn by its fate: an answer is delivered, a turn that
// never began or was text only runs again under the same uuid, and one that had
// begun a tool is told as interrupted.
func (l *lane) applyFates(records map[*inflight]fateRecord) {
	stopped := func(f *inflight) bool { return f.stop != nil && f.handed } // with its process perhaps
	refused := l.session == nil && l.exit != nil && l.exit.Reason != core.ExitOther && !slices.ContainsFunc(l.inflight, stopped)
	restarted := refused && l.prepareRestart()
	turns := slices.Clone(l.inflight)
	folded := map[*inflight]int{}
	for f, r := range records {
		if l.fold(f, r.fate) {
			folded[f] = 1
		}
	}
	// Last: they get the outcome of the turn that they are part of, if it has one now.
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
			f.handed, f.attempts = false, f.attempts-1 // the agent did not take it
		case refused && f.handed && !restarted:
			l.finish(f, l.withUndo(exitReply(l.exit, 1)))
			l.release(f)
		case l.applyFate(f, r):
			f.handed, f.agentDone, f.spoke, f.holds, f.lastExit = false, false, false, nil, l.exit
			f.started = time.Time{}
			f.fateUnknown = false // it had done nothing, and is seen from its beginning now
		}
	}
	for _, f := range l.inflight {
		if !f.answered {
			f.folded = nil // they run again, each by itself
		}
	}
	l.unattributedResult = nil
	if l.ending {
		l.ending = false
		l.releaseSlot()
	}
	l.proceed()
}

// decide settles the turn, or reports that it is to be handed over again.
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

// endOf says how the session ended, for a sentence.
func (l *lane) endOf() string {
	if l.exit != nil {
		return strings.TrimSuffix(l.exit.Text, ".")
	}
	return "the process that worked on it is gone"
}

// restart prepares the next start after one that the agent refused: it does not
// know the id that was to be resumed, or knows one that was to be begun. It
// reports false when it could not start at all, or was refused again and again.
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

// restore takes up what an earlier process left and looks for its session host.
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
		f := &inflight{turn: t, frozen: true, attempts: 1, fateUnknown: true} // for all that is known, it was handed over
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
			l.sessionID = t.SessionID // frozen just before its id was saved
		}
	}
	l.busy, l.attaching = "looking for the session host", true
	for _, it := range l.pending {
		l.interruptFor(it) // an earlier process may have had no time to
	}
	id := l.sessionID
	l.manager.wg.Go(func() {
		s, err := l.manager.o.Agent.Attach(l.manager.ctx, l.key)
		use, uerr := l.manager.o.Ledger.SessionUse(l.manager.ctx, id)
		paid, perr := l.manager.o.Ledger.Backgrounds(l.manager.ctx, l.key, paidAtMost)
		if err := errors.Join(uerr, perr); err != nil {
			l.log.Warn("cost of session not known", "err", err)
		}
		l.post(func() { // also when the lane is leaving
			l.setCountedResults(paid)
			l.attached(s, err, use.TotalCost, r.approvals)
		})
	})
}

// attached goes on with the host that was found, or without one.
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
	l.countAttached(l.sessionID, cost)
	l.newsUntil, l.newsGuessed = time.Now().Add(newsGrace), true // it may be telling them
	if l.sessionID == "" {
		l.sessionID = l.info.SessionID
	}
	l.rememberSession(func() {}) // the earlier process may have died before it did
	l.log.Info("session attached", "host_pid", l.info.HostPID, "turns_in_flight", len(l.inflight))
	l.restoreAsked(approvals)
	l.syncAsked()
	l.replayedTurns = l.finishedTurns(l.info.Working)
	var unknown []*inflight
	for _, f := range l.inflight {
		if l.info.Knows(f.turn.ID) {
			f.handed, f.attempts = true, 1 // as far as is known
			if l.info.Begun(f.turn.ID) {
				f.started = f.turn.BegunAt
			}
			f.mark(l.now(), core.MarkTakenOver, "")
			if f.stop != nil { // asked for before the host was found
				l.requestEnd(f)
			}
			l.startTimeout(f)
			continue
		}
		unknown = append(unknown, f)
	}
	l.recover(unknown) // they were not given to this process, but perhaps to one before it
}

// Reset ends the channel's session and forgets its id; the history stays. Open
// messages are cancelled. It returns when the processes are gone. ErrNotFound
// if the channel has neither a history nor a session.
func (m *Manager) Reset(ctx context.Context, key core.ChannelKey) error {
	if _, err := m.Channel(ctx, key); err != nil {
		return err
	}
	for {
		done := make(chan error, 1)
		l, err := m.postTo(key, func(l *lane) { l.reset(done) })
		if err != nil {
			return err
		}
		said, err := await(ctx, l, done)
		switch {
		case errors.Is(err, errRetired): // before it came to that
			continue
		case err != nil:
			return err
		}
		return said
	}
}

func (l *lane) reset(done chan<- error) {
	moving := slices.ContainsFunc(l.pending, func(it *queued) bool { return it.moving })
	if l.resetting != nil || l.busy != "" || l.opening || l.saving > 0 || moving || l.reordering {
		l.retryLater(func() { l.reset(done) })
		return
	}
	l.busy = "closing the channel" // first: nothing is to be dispatched when a turn ends here
	l.parked, l.retriedPark = nil, nil
	reply := core.Reply{State: core.Cancelled, Code: core.CodeReset, Error: "The conversation was closed before this message was answered."}
	for _, f := range slices.Clone(l.inflight) {
		if !f.answered && f.frozen {
			l.finish(f, reply)
		}
		if f.stop == nil {
			f.stop = &stop{code: core.CodeReset, text: reply.Error} // for one that is being frozen
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
			err := errors.Join(l.manager.o.Agent.Reap(ctx, l.key), l.manager.o.Sessions.Forget(l.key), l.manager.voidContinues(ctx, l.key))
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
	_ = l.session.Stop(core.StopNow) // Events closes, whatever happens
}
