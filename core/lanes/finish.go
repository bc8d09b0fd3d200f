package lanes

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// firstSaveRetry is the first pause between attempts to write an outcome, saveRetry
// bounds the later ones.
const (
	firstSaveRetry = 50 * time.Millisecond
	saveRetry      = 5 * time.Second
)

// finish gives a turn's messages their outcome.
func (l *lane) finish(f *inflight, reply core.Reply) { l.finishAll([]*inflight{f}, reply, nil) }

// finishAll gives the messages of turns that share one outcome that outcome. The
// last message of the first turn carries the text; the others point to it.
func (l *lane) finishAll(fs []*inflight, reply core.Reply, r *core.Result) {
	fs, reply = withFolded(fs), reply.Complete()
	now := l.now()
	var p *park
	if parks(reply.Code) {
		p = l.newPark(reply.Code, l.limitEnd(r))
		reply.Notices = []core.Notice{{Code: "parked", Text: p.why}}
	}
	stopped := func(f *inflight) bool { return f.stop != nil } // which a new process would not know
	v := outcomes{replayable: r != nil && !slices.ContainsFunc(fs, stopped)}
	for _, f := range fs {
		l.close(f, r, reply.Code, now)
		v.change.End = append(v.change.End, f.turn)
	}
	fs[0].turn.CostUSD = reply.CostUSD
	l.manager.budget.add(now, reply.CostUSD)
	question := l.askToContinue(fs[0], reply)
	if question != nil {
		v.change.Approvals = append(v.change.Approvals, question)
	}
	back := v.share(fs, reply, now)
	if len(v.items) == 0 { // nobody is told what was to be told with the reply
		l.notices = append(l.notices, fs[0].turn.Notices...)
	}
	v.replayable = v.replayable && len(back) == 0 // a lazy change could be overtaken by the next turn
	l.requeue(back)
	l.count(reply)
	l.logEnd(fs, reply, now)
	if l.session != nil {
		fs[0].holds = append(fs[0].holds, l.holdAck())
	}
	v.durable = func() {
		for _, f := range fs {
			f.releaseAcks()
		}
		l.requeued(back)
	}
	v.told = func() {
		if question != nil {
			l.publish(core.Update{Kind: core.UpdateApproval, Approval: question, Turn: question.Turn})
		}
		for _, f := range fs {
			f.stop.wake(nil)
		}
	}
	v.unwritten = func(err error) {
		for _, f := range fs {
			f.stop.wake(err)
		}
	}
	l.commitOutcomes(v)
	l.parkAfter(p, reply)
	for _, f := range fs {
		if f.agentDone {
			l.release(f)
			continue
		}
		f.timer = time.AfterFunc(releaseAfter, func() { l.post(func() { l.release(f) }) })
	}
}

// withFolded adds the turns that were folded into these: they share the outcome.
func withFolded(fs []*inflight) []*inflight {
	all := fs
	for _, f := range fs {
		for _, g := range f.folded {
			if !g.answered && !slices.Contains(all, g) {
				all = append(all[:len(all):len(all)], g)
			}
		}
	}
	return all
}

// share gives each message of the turns its part of the reply, and returns those
// that go back to the queue instead.
func (v *outcomes) share(fs []*inflight, reply core.Reply, now time.Time) (back []*queued) {
	carrier := carrierOf(fs, reply.Code)
	for _, f := range fs {
		for _, it := range f.members {
			if isRequeued(fs, it, reply.Code) {
				back = append(back, it)
				v.change.Requeue = append(v.change.Requeue, it.msg.ID)
				continue
			}
			own := reply
			own.Duration = max(0, now.Sub(f.turn.BegunAt))
			own.Notices = slices.Concat(f.turn.Notices, reply.Notices)
			if it.msg != carrier {
				own.Text, own.Coalesced, own.Into, own.CostUSD = "", true, carrier.ID, 0
				if carrier.Adapter != it.msg.Adapter {
					own.Via = carrier.Adapter
				}
			}
			v.set(it, own)
		}
	}
	return back
}

// carrierOf returns the message that carries the reply of the turns: the last one
// of the first turn that is told one.
func carrierOf(fs []*inflight, code string) *core.Message {
	for _, f := range fs {
		for _, it := range slices.Backward(f.members) {
			if !isRequeued(fs, it, code) {
				return it.msg
			}
		}
	}
	return nil
}

// close ends the turn in memory.
func (l *lane) close(f *inflight, r *core.Result, code string, now time.Time) {
	f.answered = true
	f.cancelTimer()
	l.activity, l.lastActivity = "", ""
	clear(l.tools)
	f.mark(l.eventTime(), "ended", code)
	f.turn.EndedAt, f.turn.Result, f.turn.Code = now, r, code
	if r != nil && r.SessionID != "" {
		f.turn.SessionID = r.SessionID
	}
	l.voidAsked(func(a *pendingApproval) bool { return a.approval.Turn == f.turn.ID })
}

func (l *lane) count(r core.Reply) {
	l.manager.stats.turns.Add(1)
	if r.IsError {
		l.manager.stats.turnErrors.Add(1)
	}
	if r.Code == core.CodeInterrupted {
		l.manager.stats.interrupted.Add(1)
	}
}

// logEnd logs how turns ended: a line for each message that is answered, and one for each
// turn that is not. Neither has a text.
func (l *lane) logEnd(fs []*inflight, r core.Reply, now time.Time) {
	if !l.log.Enabled(l.manager.ctx, slog.LevelInfo) {
		return
	}
	for n, f := range fs {
		if r.State == core.Answered {
			for i, it := range f.members {
				cost := 0.0
				if n == 0 && i == len(f.members)-1 { // the others share the turn that it paid for
					cost = humanize.RoundUSD(r.CostUSD)
				}
				l.log.Info("message answered", "turn", string(f.turn.ID), "message", string(it.msg.ID),
					"ms", now.Sub(f.turn.BegunAt).Milliseconds(), "cost_usd", cost)
			}
			continue
		}
		l.about(f).Info("turn ended", "state", r.State, "code", r.Code, "messages", len(f.members),
			"ms", now.Sub(f.turn.BegunAt).Milliseconds(), "attempts", f.attempts)
	}
}

// about is the log for what happens to a turn: with its id, and that of the
// message that carries its reply.
func (l *lane) about(f *inflight) *slog.Logger {
	return l.log.With("turn", string(f.turn.ID), "message", string(f.carrier().ID))
}

// A verdict is the outcome of one or several messages.
type outcomes struct {
	change core.Change
	items  []*queued // those of change.Settle
	// replayable says that the outcome comes from an event which the session host
	// keeps until the ledger has it: waiters are told before that.
	replayable bool
	told       func()      // runs when the waiters have been told; may be nil
	durable    func()      // runs when the ledger has it; may be nil
	unwritten  func(error) // runs each time that the ledger does not take it; may be nil
}

func (v *outcomes) set(it *queued, r core.Reply) {
	v.items = append(v.items, it)
	v.change.Settle = append(v.change.Settle, core.Settlement{ID: it.msg.ID, Reply: r.Complete()})
}

// letGo lets the events be acknowledged that the turn's outcome came from.
func (f *inflight) releaseAcks() {
	for _, release := range f.holds {
		release()
	}
	f.holds = nil
}

// settle gives messages their outcome. Waiters learn of it when it is durable,
// or at once if it would be found again after a crash.
func (l *lane) commitOutcomes(v outcomes) {
	now := l.now()
	for i, it := range v.items {
		s := &v.change.Settle[i]
		s.EndedAt = now
		it.msg.State, it.msg.EndedAt, it.msg.Reply = s.Reply.State, now, s.Reply
		if s.Reply.Text != "" && l.log.Enabled(l.manager.ctx, slog.LevelDebug) {
			text, _ := core.TruncateText(s.Reply.Text, core.MaxPromptBytes)
			l.log.Debug("reply", "message", string(s.ID), "state", s.Reply.State, "text", text)
		}
	}
	v.change.Deliver = append(v.repliesFor(), l.manager.deliveriesOf(v.change.Approvals...)...)
	v.change.Lazy = v.replayable && len(v.change.Deliver) == 0 // somebody waits for a delivery
	if v.replayable {
		l.notifyWaiters(v)
		runtime.Gosched() // whoever was told goes first: nobody waits for what follows
	}
	l.saveOr(v.unwritten, v.change, func() {
		if !v.replayable {
			l.notifyWaiters(v)
		}
		l.manager.notifyDeliveryHandlers(v.change.Deliver)
		for _, it := range v.items {
			l.manager.tickets.drop(it.msg.ID)
		}
		if v.durable != nil {
			v.durable()
		}
	})
}

func (l *lane) notifyWaiters(v outcomes) {
	outcomes, updates := make([]*core.Message, 0, len(v.items)), make([]core.Update, 0, len(v.items))
	for _, it := range v.items {
		msg := *it.msg
		outcomes = append(outcomes, &msg)
		u := core.Update{At: l.now(), Kind: core.UpdateResult, Turn: msg.Turn, Message: &msg}
		if !l.isPublished(&u) {
			updates = append(updates, u)
		}
	}
	l.manager.feeds.PublishAtomically(func() { l.manager.tickets.resolve(outcomes) }, l.key, updates)
	if v.told != nil {
		v.told()
	}
}

// An unsaved change waits for the storage to take it.
type unsaved struct {
	change core.Change
	then   func()
	missed func(error) // runs each time that the storage does not take it; may be nil
	nth    int         // of those that the lane has saved
}

// save writes a change that must not be lost, again and again until the storage
// takes it; then runs on the lane's goroutine after that. What the storage did not
// take stays before what comes later.
func (l *lane) save(c core.Change, then func()) { l.saveOr(nil, c, then) }

// saveOr also runs missed, if it is not nil, each time that it is not taken.
func (l *lane) saveOr(missed func(error), c core.Change, then func()) {
	l.writing++
	l.saved++
	u := unsaved{c, func() { l.writing--; l.savePause = 0; then() }, missed, l.saved}
	if len(l.unsaved) > 0 {
		l.unsaved = append(l.unsaved, u)
		u.miss(l.saveError)
		return
	}
	l.write(u)
}

func (u *unsaved) miss(err error) {
	if u.missed != nil {
		u.missed(err)
	}
}

func (l *lane) write(u unsaved) {
	l.manager.o.Ledger.Write(u.change, func(err error) {
		switch {
		case errors.Is(err, core.ErrStorage), errors.Is(err, core.ErrStorageFull):
			l.post(func() { l.notSaved(u, err) })
			return
		case errors.Is(err, core.ErrClosed):
			return
		case err != nil: // it contradicts the record: no retry can help
			l.log.Error("not written", "err", err)
		}
		l.post(u.then)
	})
}

// notSaved has a change be written again after a pause, with all that waits behind it.
func (l *lane) notSaved(u unsaved, err error) {
	l.unsaved, l.saveError = append(l.unsaved, u), err
	u.miss(err)
	if len(l.unsaved) > 1 {
		return // the pause is under way
	}
	l.savePause = min(max(2*l.savePause, firstSaveRetry), saveRetry)
	l.log.Error("not written yet", "err", err, "retry_in", l.savePause)
	time.AfterFunc(l.savePause, func() { l.post(l.saveAgain) })
}

func (l *lane) saveAgain() {
	all := l.unsaved
	l.unsaved = nil
	slices.SortFunc(all, func(a, b unsaved) int { return a.nth - b.nth })
	for _, u := range all {
		l.write(u)
	}
}

// release takes a finished turn off the lane and lets the next one begin.
func (l *lane) release(f *inflight) {
	if l.findInflight(f.turn.ID) == nil {
		return
	}
	f.cancelTimer()
	l.removeFlight(f)
	for _, g := range f.folded {
		if g.answered {
			g.cancelTimer()
			l.removeFlight(g)
		}
	}
	l.dispatch()
}

// failedReply is the outcome of a turn whose error the agent's record shows.
func failedReply(f core.Fate) core.Reply {
	return core.Reply{State: core.Failed, IsError: true, Code: f.Code, Error: f.Text, Text: f.Text}
}

// interruptedReply is the outcome of a turn that was cut and must not be run
// again by itself.
func interruptedReply(why, done string) core.Reply {
	text := why
	if done != "" {
		text += " Done before that: " + done + "."
	} else {
		text += " What it had begun is not known."
	}
	text += " It was not run again; retry it to go on from there."
	return core.Reply{State: core.Failed, IsError: true, Code: core.CodeInterrupted, Error: text, Text: text, Done: done}
}

// exitReply is the outcome of a turn during which the agent died.
func exitReply(e *core.Exit, attempts int) core.Reply {
	text := "Claude stopped unexpectedly."
	code := core.CodeAgentExit
	if e != nil {
		text, code = e.Text, e.Code
	}
	if attempts > 1 {
		text = fmt.Sprintf("%s This message was tried %d times.", text, attempts)
	}
	return core.Reply{State: core.Failed, IsError: true, Code: code, Error: text, Text: text}
}
