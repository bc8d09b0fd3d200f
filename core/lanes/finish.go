package lanes

import (
	"log/slog"
	"runtime"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/google/uuid"
)

// continueFor is how long the question whether to continue an interrupted turn stays open.
// No turn waits for the answer, and an unanswered question expires.
const continueFor = 24 * time.Hour

func (ts *turns) end(f *inflight, r core.Reply) {
	ts.finish([]*inflight{f}, r, nil)
	ts.release(f)
}

// endTurns gives all turns an outcome. A turn being frozen gets the outcome as soon as the
// ledger has answered.
func (ts *turns) endTurns(r core.Reply) {
	for _, f := range ts.list {
		switch {
		case f.answered:
		case f.frozen:
			ts.end(f, r)
		case f.stop == nil, f.stop.again:
			f.stop = &stop{reply: r} // nobody waits for a turn that is to begin again
		}
	}
}

func (ts *turns) endAll(r core.Reply) {
	ts.endTurns(r)
	var v outcomes
	ts.queue.items = slices.DeleteFunc(ts.queue.items, func(it *queued) bool {
		if it.durable {
			v.set(it, r)
		}
		return it.durable
	})
	ts.commitOutcomes(v)
}

// finish gives the messages of several turns one shared outcome. The last message of the
// first turn carries the text; the other messages refer to the carrier.
func (ts *turns) finish(fs []*inflight, reply core.Reply, r *core.Result) {
	fs, reply = withFolded(fs), reply.Complete()
	reply = ts.withRemedy(fs, reply, r)
	now := ts.now()
	var p *park
	if parks(reply.Code) {
		p = ts.queue.newPark(reply.Code, r)
		if reply.Code != core.CodeNotLoggedIn { // else the outcome says it
			reply.Notices = []core.Notice{{Code: "parked", Text: p.why}}
		}
	}
	var v outcomes
	for _, f := range fs {
		ts.close(f, r, reply.Code, now)
		v.change.End = append(v.change.End, f.turn)
		if f.stop != nil {
			v.stops = append(v.stops, f.stop)
		}
	}
	fs[0].turn.CostUSD = reply.CostUSD
	ts.manager.budget.Add(now, reply.CostUSD)
	v.change.Approvals = ts.askToContinue(fs[0], reply)
	back := v.share(fs, reply, now)
	if len(v.items) == 0 { // no message carries the notices: keep the notices for the next turn
		ts.notices = append(ts.notices, fs[0].turn.Notices...)
	}
	// A new process does not know stops, and the next turn could overtake a lazy change.
	v.replayable = r != nil && len(v.stops) == 0 && len(back) == 0
	ts.queue.requeue(back)
	if p == nil {
		ts.queue.announceReturn(fs[0].turn.ID, back)
	}
	ts.count(reply)
	ts.logEnd(fs, reply, now)
	if ts.conv.session != nil {
		fs[0].holds = append(fs[0].holds, ts.conv.session.acks.hold())
	}
	v.durable = func() {
		for _, f := range fs {
			f.releaseAcks()
		}
		for _, it := range back {
			it.moving = false
		}
	}
	ts.commitOutcomes(v)
	ts.queue.parkAfter(p, reply)
	for _, f := range fs {
		if f.agentDone {
			ts.release(f)
			continue
		}
		f.timer = ts.after(releaseAfter, func() { ts.release(f) })
	}
}

// withFolded adds the turns folded into fs, because folded turns share the outcome.
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

// share gives each message of the turns a part of the reply, and returns the messages going
// back to the queue instead.
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

// carrierOf returns the message carrying the reply: the last message, not going back to the
// queue, of the first turn with such a message. carrierOf returns nil if all messages go
// back.
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

func (ts *turns) close(f *inflight, r *core.Result, code string, now time.Time) {
	f.answered = true
	f.cancelTimer()
	if ts.conv.session != nil {
		ts.conv.session.activity.endTurn()
	}
	f.mark(ts.eventTime(), "ended", code)
	f.turn.EndedAt, f.turn.Result, f.turn.Code = now, r, code
	if r != nil && r.SessionID != "" {
		f.turn.SessionID = r.SessionID
	}
	ts.desk.void(func(a *pendingApproval) bool { return a.approval.Turn == f.turn.ID })
}

func (ts *turns) count(r core.Reply) {
	ts.manager.stats.Turns.Add(1)
	if r.IsError {
		ts.manager.stats.TurnErrors.Add(1)
	}
	if r.Code == core.CodeInterrupted {
		ts.manager.stats.Interrupted.Add(1)
	}
}

// logEnd logs the end of turns: a line for each answered message, and a line for each turn
// without an answer. No line contains message text.
func (ts *turns) logEnd(fs []*inflight, r core.Reply, now time.Time) {
	if !ts.log.Enabled(ts.manager.ctx, slog.LevelInfo) {
		return
	}
	for n, f := range fs {
		if r.State == core.Answered {
			for i, it := range f.members {
				cost := 0.0
				if n == 0 && i == len(f.members)-1 { // only the carrier logs the cost of the shared turn
					cost = humanize.RoundUSD(r.CostUSD)
				}
				ts.log.Info("message answered", "turn", string(f.turn.ID), "message", string(it.msg.ID),
					"ms", now.Sub(f.turn.BegunAt).Milliseconds(), "cost_usd", cost)
			}
			continue
		}
		ts.about(f).Info("turn ended", "state", r.State, "code", r.Code, "messages", len(f.members),
			"ms", now.Sub(f.turn.BegunAt).Milliseconds(), "attempts", f.attempts)
	}
}

func (ts *turns) about(f *inflight) *slog.Logger {
	return ts.log.With("turn", string(f.turn.ID), "message", string(f.carrier().ID))
}

// An outcomes collects the outcome of one or several messages and the change to write.
type outcomes struct {
	change core.Change
	items  []*queued // the messages of change.Settle
	// replayable means the session host keeps the causing event until the ledger has the
	// outcome, so waiters are notified before the write.
	replayable bool
	stops      []*stop // of the turns ended early
	durable    func()  // runs when the ledger has written the change; may be nil
}

func (v *outcomes) set(it *queued, r core.Reply) {
	v.items = append(v.items, it)
	v.change.Settle = append(v.change.Settle, core.Settlement{ID: it.msg.ID, Reply: r.Complete()})
}

// commitOutcomes gives messages their outcome and writes the change. Waiters are notified
// when the change is durable, or at once if a new process would recover the same outcome
// after a crash.
func (ts *turns) commitOutcomes(v outcomes) {
	now := ts.now()
	for i, it := range v.items {
		s := &v.change.Settle[i]
		s.EndedAt = now
		it.msg.State, it.msg.EndedAt, it.msg.Reply = s.Reply.State, now, s.Reply
		if s.Reply.Text != "" && ts.log.Enabled(ts.manager.ctx, slog.LevelDebug) {
			text, _ := core.TruncateText(s.Reply.Text, core.MaxPromptBytes)
			ts.log.Debug("reply", "message", string(s.ID), "state", s.Reply.State, "text", text)
		}
	}
	v.change.Deliver, v.change.Lazy = v.repliesFor(), v.replayable
	wake := func(err error) {
		for _, s := range v.stops {
			s.wake(err)
		}
	}
	notify := func() {
		ts.publishOutcomes(v.items)
		for _, a := range v.change.Approvals {
			ts.publish(core.Update{Kind: core.UpdateApproval, Approval: a, Turn: a.Turn})
		}
		wake(nil)
	}
	if v.replayable {
		notify()
		runtime.Gosched() // let the notified waiters run first; no caller waits for the write
	}
	ts.journal.save(v.change, func() {
		if !v.replayable {
			notify()
		}
		for _, it := range v.items {
			ts.manager.tickets.drop(it.msg.ID)
		}
		if v.durable != nil {
			v.durable()
		}
	}, wake)
}

func (ts *turns) release(f *inflight) {
	if ts.find(f.turn.ID) == nil {
		return
	}
	f.cancelTimer()
	ts.remove(f)
	for _, g := range f.folded {
		if g.answered {
			g.cancelTimer()
			ts.remove(g)
		}
	}
}

// repliesFor returns the deliveries required by the outcomes. A coalesced message needs no
// delivery if the carrier's reply is delivered to the same place.
func (v *outcomes) repliesFor() []*core.Delivery {
	var ds []*core.Delivery
	for _, it := range v.items {
		m := it.msg
		if !m.Deliver || m.Reply.Coalesced && v.delivers(m.Reply.Into, m.Adapter) {
			continue
		}
		ds = append(ds, &core.Delivery{
			ID:        core.ReplyDelivery(m.ID),
			Kind:      core.DeliverReply,
			Adapter:   m.Adapter,
			Channel:   m.Channel,
			Message:   m.ID,
			State:     core.DeliveryPending,
			CreatedAt: m.EndedAt,
		})
	}
	return ds
}

// delivers reports whether the outcomes contain the message and the adapter delivers the
// reply. All messages of the outcomes are of the same channel.
func (v *outcomes) delivers(id core.MessageID, adapter string) bool {
	return slices.ContainsFunc(v.items, func(it *queued) bool { return it.msg.ID == id && it.msg.Deliver && it.msg.Adapter == adapter })
}

// askToContinue returns the question whether to continue a turn interrupted at work, if the
// turn needs a question. The question's id depends only on the turn.
func (ts *turns) askToContinue(f *inflight, r core.Reply) []*core.Approval {
	cut := r.State == core.Failed && (r.Code == core.CodeInterrupted || r.Code == core.CodeStalled || r.Code == core.CodeTimeout)
	if !cut || !core.MayHaveActed(&r, f.turn) {
		return nil
	}
	now := ts.now()
	return []*core.Approval{{
		ID:        uuid.NewSHA1(uuid.NameSpaceOID, []byte("continue "+f.turn.ID)).String(),
		Kind:      core.ApprovalContinue,
		Channel:   ts.key,
		Message:   f.carrier().ID,
		Prompt:    core.ApprovalPrompt(f.carrier()),
		Turn:      f.turn.ID,
		CreatedAt: now,
		ExpiresAt: now.Add(continueFor),
		State:     core.ApprovalPending,
	}}
}

// releaseOpenAcks lets the lane acknowledge events of turns without an outcome, because from
// now on every process reads the fate of such turns from the agent's record.
func (ts *turns) releaseOpenAcks() {
	for _, f := range ts.list {
		if !f.answered {
			f.releaseAcks()
		}
	}
}
