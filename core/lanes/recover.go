package lanes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// A recovered holds the open records of a channel left by an earlier process.
type recovered struct {
	live      bool // the session host is alive
	messages  []*core.Message
	turns     []*core.Turn
	approvals []*core.Approval
}

// A recovery continues after the end of a session, or of an earlier process.
type recovery struct {
	*channel
	queue *queue
	conv  *conversation
	desk  *approvalDesk
	calls *toolRequests
	turns *turns
	nth   int // number of recoveries; results of all but the latest are ignored
}

// restore loads the open records of an earlier process and looks for the session host.
func (rv *recovery) restore(r *recovered) {
	items := map[core.MessageID]*queued{}
	for _, msg := range r.messages {
		it := &queued{msg: msg, written: true, durable: true, requeueWhenParked: true}
		items[msg.ID] = it
		if msg.State == core.Waiting {
			rv.queue.items = append(rv.queue.items, it)
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
			rv.log.Error("open turn without open messages", "turn", t.ID)
			continue
		}
		rv.turns.list = append(rv.turns.list, f)
		if rv.conv.id == "" || t.Opens {
			rv.conv.id = t.SessionID // the turn was frozen just before the session id was saved
		}
	}
	rv.beginOperation(attaching)
	rv.conv.attaching = true
	for _, it := range rv.queue.items {
		rv.turns.interruptFor(it) // the earlier process may have ended before the interrupt
	}
	id := rv.conv.id
	rv.manager.wg.Go(func() {
		s, err := rv.manager.o.Agent.Attach(rv.manager.ctx, rv.key)
		use, uerr := rv.manager.o.Ledger.SessionUse(rv.manager.ctx, id)
		paid, perr := rv.manager.o.Ledger.Backgrounds(rv.manager.ctx, rv.key, countedAtMost)
		refused := rv.conv.refusalsOf(rv.manager.ctx, id)
		if err := errors.Join(uerr, perr); err != nil {
			rv.log.Warn("cost of session not known", "err", err)
		}
		rv.post(func() { // also when the lane is leaving
			rv.conv.counted, rv.conv.refusals = paid, refused
			rv.attached(s, err, use.TotalCost, r.approvals)
		})
	})
}

// attached continues with the session host found by restore, or recovers without a host.
func (rv *recovery) attached(s core.Session, err error, cost float64, approvals []*core.Approval) {
	rv.conv.attaching = false
	if rv.conv.detachIfLeaving(s) {
		return
	}
	if err != nil {
		if !errors.Is(err, core.ErrNoHost) {
			rv.log.Warn("session host not attached", "err", err)
		}
		rv.desk.restore(approvals)
		rv.desk.void(func(*pendingApproval) bool { return true })
		rv.recover(rv.turns.list)
		return
	}
	rv.conv.adopt(s)
	rv.conv.cost.Attach(rv.conv.id, cost)
	rv.conv.session.background.expectNews() // the agent may be reporting ended tasks
	rv.conv.id = cmp.Or(rv.conv.id, rv.conv.session.info.SessionID)
	rv.conv.remember(func() {}) // the earlier process may have died before saving the id
	rv.log.Info("session attached", "host_pid", rv.conv.session.info.HostPID, "turns_in_flight", len(rv.turns.list))
	rv.desk.restore(approvals)
	rv.desk.sync(rv.turns.running())
	rv.calls.sync(rv.turns.running())
	isOpen := func(id core.TurnID) bool { return rv.turns.find(id) != nil }
	rv.conv.session.replayed = slices.DeleteFunc(slices.Clone(rv.conv.session.info.Working), isOpen)
	var unknown []*inflight
	for _, f := range rv.turns.list {
		if rv.conv.session.info.Knows(f.turn.ID) {
			f.handed, f.attempts = true, 1 // at least one handover; the true count is unknown
			if rv.conv.session.info.Begun(f.turn.ID) {
				f.started = f.turn.BegunAt
			}
			f.mark(rv.now(), core.MarkTakenOver, "")
			if f.stop != nil { // requested before the host was found
				rv.turns.requestEnd(f)
			}
			rv.turns.startTimeout(f)
			continue
		}
		unknown = append(unknown, f)
	}
	rv.recover(unknown) // not handed to the present process, but perhaps to an earlier process
}

// sessionGone cleans up and starts recovery after the session's process, or the session
// host, has ended.
func (rv *recovery) sessionGone() {
	switch e := rv.conv.exit; {
	case rv.conv.ending:
		rv.log.Info("session ended")
	case e != nil:
		rv.log.Info("session ended", "reason", e.Text)
	default:
		rv.log.Warn("session host lost")
	}
	rv.conv.session.acks.ack = nil
	rv.conv.session = nil
	rv.calls.cancelAll()
	rv.desk.void(func(*pendingApproval) bool { return true })
	for _, f := range rv.turns.list {
		if f.answered {
			f.cancelTimer()
			rv.turns.remove(f)
		}
	}
}

// recover reads the fate of turns abandoned by the agent and continues accordingly. Without
// a session, recover first ends leftover processes. No turn is dispatched meanwhile. Turns
// not yet frozen were never handed over and need no recovery.
func (rv *recovery) recover(turns []*inflight) {
	rv.beginOperation(recovering)
	rv.nth++
	nth := rv.nth
	rv.readFates(turns, rv.conv.session == nil, func(records map[*inflight]fateRecord) {
		if nth == rv.nth { // else a later session has died, and a newer recovery is reading all fates
			rv.applyFates(records)
		}
	})
}

// readFates reads the fates of the frozen turns, and then runs then on the lane's goroutine.
// If reap is set, readFates first ends leftover processes.
func (rv *recovery) readFates(turns []*inflight, reap bool, then func(map[*inflight]fateRecord)) {
	sessions := map[*inflight]string{}
	for _, f := range turns {
		if f.frozen {
			sessions[f] = f.turn.SessionID
		}
	}
	rv.async(func(ctx context.Context) func() {
		var err error
		if reap {
			err = rv.manager.o.Agent.Reap(ctx, rv.key)
		}
		records := map[*inflight]fateRecord{}
		for f, session := range sessions {
			fate, err := rv.manager.o.Agent.Fate(ctx, rv.key, session, f.turn.ID)
			records[f] = fateRecord{fate, err}
		}
		return func() {
			if err != nil {
				rv.log.Error("old processes not ended", "err", err)
			}
			then(records)
		}
	})
}

type fateRecord struct {
	fate core.Fate
	err  error
}

// applyFates decides each turn by the recorded fate. An answer is delivered, a turn not
// begun or without tools runs again under the same uuid, and a turn with a tool begun is
// reported as interrupted.
func (rv *recovery) applyFates(records map[*inflight]fateRecord) {
	stopped := func(f *inflight) bool { return f.stop != nil && f.handed } // the stop may have ended the process
	var refusal *core.Exit
	if e := rv.conv.exit; rv.conv.session == nil && e != nil && e.Reason != core.ExitOther && !slices.ContainsFunc(rv.turns.list, stopped) {
		refusal = e
	}
	restarted := refusal != nil && rv.prepareRestart()
	turns := slices.Clone(rv.turns.list)
	folded := map[*inflight]int{}
	for f, r := range records {
		if rv.fold(f, r.fate) {
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
		if e := rv.conv.exit; f.handed && (e == nil || e.Reason == core.ExitOther) { // an agent that refuses to start ends no turn
			f.lastExit = e
		}
		c := rv.cutOf(f, r)
		c.exit, c.refusal, c.restart, c.unassigned = f.lastExit, refusal, restarted, rv.conv.unassigned
		switch v := c.verdict(); {
		case v.uncount:
			f.handed, f.attempts = false, f.attempts-1
		case v.again:
			rv.handAgain(f, r.fate)
		case v.undo:
			rv.turns.end(f, rv.conv.withUndo(v.reply))
		default:
			rv.turns.end(f, v.reply)
		}
	}
	for _, f := range rv.turns.list {
		if !f.answered {
			f.folded = nil // each turn runs again separately
		}
	}
	rv.conv.unassigned = nil
	if rv.conv.ending {
		rv.conv.ending = false
		rv.conv.slot.Release()
	}
	rv.endOperation()
}

// fold records f as folded into another open turn, if the fate names such a turn, and
// reports whether f is folded. A tool begun by f counts as begun by the enclosing turn too.
func (rv *recovery) fold(f *inflight, fate core.Fate) bool {
	into := rv.turns.find(fate.Into)
	if into == nil || into == f || into.answered || f.answered {
		return false
	}
	if !slices.Contains(into.folded, f) {
		into.folded = append(into.folded, f)
	}
	into.toolBegun = into.toolBegun || f.toolBegun
	return true
}

// cutOf returns the facts about a turn without a result, and records the facts needed if the
// turn's messages go back to the queue.
func (rv *recovery) cutOf(f *inflight, r fateRecord) cut {
	f.toolBegun = f.toolBegun || r.fate.ToolBegun
	f.fateUnknown = f.fateUnknown || r.err != nil
	if r.err != nil {
		rv.turns.about(f).Warn("record of turn not read", "err", r.err)
	}
	return cut{
		record:    r.fate,
		recordErr: r.err,
		stop:      f.stop,
		handed:    f.handed,
		attempts:  f.attempts,
		toolBegun: f.toolBegun,
		progress:  cmp.Or(r.fate.Done, f.toolsSeen()),
		sessionID: f.turn.SessionID,
	}
}

// handAgain prepares the next handover of a turn without an effect. The lane observes the new
// run from the start.
func (rv *recovery) handAgain(f *inflight, fate core.Fate) {
	if f.attempts > 0 {
		rv.manager.stats.Resent.Add(1)
		rv.turns.about(f).Info("turn is handed over again", "begun", fate.Begun, "attempts", f.attempts)
	}
	f.mark(rv.now(), "resent", "")
	f.handed, f.agentDone, f.spoke, f.fateUnknown, f.started, f.holds = false, false, false, false, time.Time{}, nil
}

// prepareRestart prepares the next start after the agent refused to resume an unknown
// session id or to begin an existing session id, or could not start now. prepareRestart
// reports false if the agent could not start at all, or refused more than maxAttempts times.
func (rv *recovery) prepareRestart() bool {
	if why := rv.conv.exit.Wait; why != "" {
		rv.turns.hold(why)
		return true
	}
	rv.conv.startRefusals++
	if rv.conv.exit.Reason == core.ExitStartFailed || rv.conv.startRefusals > maxAttempts {
		rv.conv.startRefusals = 0
		return false
	}
	if rv.conv.exit.Reason == core.ExitUnknownSession {
		rv.startFresh()
	}
	return true
}

// startFresh replaces the session id with a new id, because the old session cannot be
// resumed. Turns in flight change to the new session at the handover.
func (rv *recovery) startFresh() {
	old := rv.conv.id
	rv.conv.id, rv.conv.unopened = uuid.NewString(), true
	rv.log.Warn("session lost, starting afresh", "old_session", old, "new_session", rv.conv.id)
	rv.turns.notice(core.Notice{Code: "fresh_session", Text: "The earlier conversation could not be resumed, so this is a fresh session."})
	rv.publish(core.Update{Kind: core.UpdateSession, Detail: "The earlier conversation could not be resumed; a fresh session begins."})
}

// lookUpDone schedules a look-up of ended turns without a result. A folded turn ends just
// before the enclosing turn's result arrives, so lookUpDone does nothing while another turn
// may still deliver the result. The enclosing turn may also be the agent's own, after a
// background task, so the look-up waits for recordAfter.
func (rv *recovery) lookUpDone() {
	var done []*inflight
	for _, f := range rv.turns.list {
		if f.answered || !f.handed {
			continue
		}
		if !f.agentDone {
			return
		}
		done = append(done, f)
	}
	for _, f := range done {
		s := rv.conv.session
		rv.after(recordAfter, func() { rv.lookUp(f, s) })
	}
}

// lookUp reads the agent's record of a turn ended in session s, unless the turn has an
// outcome by now or session s has ended.
func (rv *recovery) lookUp(f *inflight, s *agentSession) {
	if f.answered || !f.agentDone || rv.conv.session != s {
		return
	}
	rv.readFates([]*inflight{f}, false, func(records map[*inflight]fateRecord) {
		if !f.answered && rv.conv.session == s {
			rv.fromRecord(f, records[f])
		}
	})
}

// fromRecord gives a turn without a result the outcome found in the agent's own record.
func (rv *recovery) fromRecord(f *inflight, r fateRecord) {
	c := rv.cutOf(f, r)
	c.byAgent, c.exit = true, f.lastExit
	if rv.fold(f, r.fate) { // the enclosing turn is looked up too, or has a result coming
		return
	}
	rv.turns.end(f, c.verdict().reply)
}

// countedAtMost is how many recorded background results a lane loads to recognize replayed
// results: the host keeps all events from the oldest event with an effect not durable yet.
const countedAtMost = 256
