package lanes

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

const (
	// ackEvery is how many events are taken up before they are acknowledged
	// when nothing else asks for it.
	ackEvery = 64
	// releaseAfter is how long the lane waits, after a turn's result, for the
	// agent to say that it is done with the turn.
	releaseAfter = 2 * time.Second
	// recordAfter is how long a turn that the agent is done with waits for a
	// result that names it, before the agent's own record is read instead.
	recordAfter = 500 * time.Millisecond
	// holdAtMost is how long the end of a folded turn is kept for a new process:
	// the turn that it is part of may be long, and all its events are kept too.
	holdAtMost = time.Minute
)

// take acts on one event of the session.
func (l *lane) handleEvent(ev core.Event) {
	if ev.Kind == core.LogFull {
		l.onHostBlocked(ev.Detail)
		return
	}
	l.onHostUnblocked()
	l.lastSeq, l.currentSeq, l.replayOf = ev.Seq, ev.Seq, time.Time{}
	if ev.Seq <= l.info.Said {
		l.replayOf = ev.At
	}
	if ev.Kind == core.SessionNew {
		l.lastSeq-- // what else its line says follows under the same number
	}
	if ev.Model != "" {
		l.model = ev.Model
	}
	again := l.isReplay(ev)
	if ev.Kind == core.TurnState {
		l.turnState(ev) // first: the start of a turn is told before what belongs to it
	}
	if ev.Raw != nil && !again && l.listening() {
		u := core.Update{Kind: core.UpdateEvent, Raw: ev.Raw}
		if f := l.currentTurn(); f != nil {
			u.Turn, u.Messages = f.turn.ID, f.turn.Members
		}
		l.publish(u)
	}
	l.noteOwnTurn(ev)
	switch ev.Kind {
	case core.Said, core.TurnState:
	case core.Resulted:
		l.resulted(ev)
		l.dropReplayed(ev.Result)
	case core.Requested:
		l.requested(*ev.Request)
	case core.RequestGone:
		l.voidAsked(func(a *pendingApproval) bool { return a.approval.RequestID == ev.Request.ID })
	case core.SessionNew:
		l.sessionNew(ev)
	case core.ToolBegun:
		l.toolBegun(ev)
	case core.ToolEnded:
		l.toolEnded(ev.ToolID)
	case core.Retrying:
		if !again {
			l.retrying(ev)
		}
	case core.Limited:
		l.limit = ev.Until
	case core.TasksChanged:
		if l.tasks > 0 && ev.Tasks == 0 {
			l.newsUntil, l.newsGuessed = time.Now().Add(newsGrace), false
		}
		l.tasks = ev.Tasks
	case core.Readied:
		l.ready, l.startRefusals = true, 0
		l.markRunning("agent_ready", "")
	case core.Exited:
		l.exit = ev.Exit
		l.releaseOpenAcks()
		l.ack() // the host ends once it has this
	}
	if l.lastSeq-l.acked >= ackEvery {
		l.ack()
	}
}

// toolBegun notes that the running turn has begun a tool: it is never run again
// by itself. An event without a name only announces the call.
func (l *lane) toolBegun(ev core.Event) {
	f := l.currentTurn()
	if f == nil {
		return
	}
	f.toolBegun = true
	if ev.Tool != "" {
		l.activity, l.lastActivity, l.toolCall = ev.Tool, ev.Tool+": "+ev.Target, ev.ToolID
		f.markCall(l.eventTime(), ev.ToolID, l.lastActivity)
		l.noteTool(ev)
	}
}

// retrying tells that the agent repeats a failing call of the API, which is in
// vain when the API refuses its login.
func (l *lane) retrying(ev core.Event) {
	l.markRunning("retry", ev.Detail)
	u := core.Update{Kind: core.UpdateRetrying, Detail: ev.Detail}
	if f := l.currentTurn(); f != nil {
		u.Turn, u.Messages = f.turn.ID, f.turn.Members
	}
	l.publish(u)
	if ev.Status == statusUnauthorized {
		l.stopUnauthorized()
	}
}

func (l *lane) markRunning(what, detail string) {
	if f := l.running(); f != nil {
		f.mark(l.eventTime(), what, detail)
	}
}

// ack acknowledges what has been taken up, but nothing whose effect is not
// durable yet: a new process would need it again.
func (l *lane) ack() {
	seq := l.lastSeq
	if len(l.holds) > 0 {
		seq = min(seq, l.holds[0]-1)
	}
	if l.session != nil && seq > l.acked {
		l.acked = seq
		l.session.Ack(seq)
	}
}

// hold keeps the newest event, and all after it, from being acknowledged until
// the returned function is called.
func (l *lane) holdAck() (release func()) {
	seq, s := max(1, l.lastSeq), l.session // 1: nothing was heard yet, all is held
	l.holds = append(l.holds, seq)
	return func() {
		if l.session != s {
			return
		}
		if i := slices.Index(l.holds, seq); i >= 0 { // there may be several of the same event
			l.holds = slices.Delete(l.holds, i, i+1)
		}
		l.ack()
	}
}

// letGoOpen lets events be acknowledged that no outcome came of: what becomes of
// their turns is read from the agent's record now, whoever reads it.
func (l *lane) releaseOpenAcks() {
	for _, f := range l.inflight {
		if !f.answered {
			f.releaseAcks()
		}
	}
}

func (l *lane) turnState(ev core.Event) {
	f := l.findInflight(ev.Turn)
	if f == nil { // of a turn that has its outcome already
		return
	}
	switch ev.Phase {
	case core.PhaseQueued:
	case core.PhaseStarted:
		// What is said again had begun before the agent was asked; it may be at another turn by now.
		early := f.stop != nil && f.started.IsZero() && !f.answered && ev.Seq > l.info.Said
		f.started = l.eventTime()
		f.mark(f.started, "started", "")
		l.publish(core.Update{Kind: core.UpdateStarted, Turn: f.turn.ID, Messages: f.turn.Members})
		if early { // the agent was asked to end it before it had begun it
			if err := l.session.Interrupt(); err != nil {
				l.about(f).Warn("interrupt not sent", "err", err)
			}
		}
	case core.PhaseCompleted, core.PhaseCancelled:
		f.agentDone = true
		if f.answered {
			l.release(f)
			return
		}
		f.holds = append(f.holds, l.holdAck())
		time.AfterFunc(holdAtMost, func() {
			l.post(func() {
				if !f.answered {
					f.releaseAcks()
				}
			})
		})
		l.lookUpDone()
	}
}

// lookUpDone finds the outcome of turns that the agent is done with, but that no
// result has named. A folded turn is done just before the result that names it,
// so nothing is looked up while another turn may still bring it; and the other
// may be the agent's own, after a background task, so it is waited for a little.
func (l *lane) lookUpDone() {
	var done []*inflight
	for _, f := range l.inflight {
		if f.answered || !f.handed {
			continue
		}
		if !f.agentDone {
			return
		}
		done = append(done, f)
	}
	for _, f := range done {
		s := l.session
		time.AfterFunc(recordAfter, func() {
			l.post(func() { l.lookUp(f, s) })
		})
	}
}

// lookUp reads the agent's own record of a turn that it is done with in the
// session s, unless the turn has its outcome by now, or the session has ended.
func (l *lane) lookUp(f *inflight, s core.Session) {
	if f.answered || !f.agentDone || l.session != s {
		return
	}
	session, id := f.turn.SessionID, f.turn.ID
	l.async(func(ctx context.Context) func() {
		fate, err := l.manager.o.Agent.Fate(ctx, l.key, session, id)
		return func() {
			if !f.answered && l.session == s {
				l.fromRecord(f, fate, err)
			}
		}
	})
}

// fromRecord gives a turn that ended without a result the outcome that the
// agent's own record shows.
func (l *lane) fromRecord(f *inflight, fate core.Fate, err error) {
	f.addFate(fateRecord{fate, err})
	if l.fold(f, fate) { // that is looked up too, or its result comes
		return
	}
	switch {
	case err == nil && fate.Answered:
		l.finish(f, core.Reply{State: core.Answered, Text: fate.Text, SessionID: f.turn.SessionID})
	case err == nil && fate.Failed:
		l.finish(f, failedReply(fate))
	case f.stop != nil:
		l.finish(f, f.stopReply(f.describeProgress(fate)))
	case f.lastExit != nil && !f.toolBegun && !fate.ToolBegun:
		l.finish(f, exitReply(f.lastExit, f.attempts)) // it does not run what was cut more than once
	default:
		l.finish(f, interruptedReply("Claude ended this turn without an answer.", f.describeProgress(fate)))
	}
	l.release(f)
}

func (l *lane) resulted(ev core.Event) {
	r := ev.Result
	if r.Background {
		l.background(ev)
		return
	}
	var named []*inflight
	for _, f := range l.inflight {
		if !f.answered && slices.Contains(r.Turns, f.turn.ID) {
			named = append(named, f)
		}
	}
	if len(named) == 0 {
		if len(r.Turns) == 0 && r.IsError && l.running() != nil && len(l.replayedTurns) == 0 {
			l.unattributedResult = r
		}
		return
	}
	l.unattributedResult = nil
	reply := resultReply(r, named[0])
	reply.CostUSD, reply.SessionID = l.addCost(r), r.SessionID
	l.budgetExhausted = l.budgetExhausted || r.Code == core.CodeMaxBudget
	if r.Code == core.CodeBadModel {
		reply = l.withUndo(reply)
	}
	l.finishAll(named, reply, r)
	l.lookUpDone()
}

// resultReply turns the agent's result into a reply.
func resultReply(r *core.Result, f *inflight) core.Reply {
	switch {
	case !r.IsError:
		return core.Reply{State: core.Answered, Text: r.Text}
	case r.Interrupted && f.stop != nil:
		return f.stopReply("")
	case r.Interrupted: // as an earlier process of the gateway had asked for
		return core.Reply{State: core.Cancelled, IsError: true, Code: core.CodeInterrupted, Error: r.Error, Text: r.Error}
	}
	reply := core.Reply{State: core.Failed, IsError: true, Code: r.Code, Error: r.Error, Text: r.Text}
	if reply.Text == "" {
		reply.Text = r.Error
	}
	return reply
}

// background keeps and publishes a result that belongs to no message.
func (l *lane) background(ev core.Event) {
	r := ev.Result
	l.newsUntil = time.Time{}
	l.budgetExhausted = l.budgetExhausted || r.Code == core.CodeMaxBudget
	// The line has a uuid of its own, so that it gets the same id if it comes again.
	id := uuid.NewSHA1(uuid.NameSpaceOID, ev.Raw).String()
	if _, again := l.countedResults[id]; again {
		return // and later results may be on record, so that its total says nothing
	}
	cost := l.addCost(r)
	b := &core.Background{
		ID: id, Channel: l.key, Text: cmp.Or(r.Text, r.Error), IsError: r.IsError, CreatedAt: l.now(),
		SessionID: l.sessionID, CostUSD: cost, TotalCost: r.TotalCost,
	}
	if l.log.Enabled(l.manager.ctx, slog.LevelDebug) {
		text, _ := core.TruncateText(b.Text, core.MaxPromptBytes)
		l.log.Debug("background result", "id", b.ID, "text", text)
	}
	l.manager.budget.add(b.CreatedAt, cost)
	release := l.holdAck()
	c := core.Change{Background: []*core.Background{b}, Lazy: true}
	if d, err := l.manager.backgroundDelivery(b); err != nil {
		l.log.Error("background result is not delivered", "err", err)
	} else if d != nil {
		c.Deliver = []*core.Delivery{d}
	}
	l.save(c, func() {
		l.manager.notifyDeliveryHandlers(c.Deliver)
		release()
	})
	l.publish(core.Update{Kind: core.UpdateBackground, Background: b})
}

// sessionNew follows the agent to another session id (/clear gives a new one).
func (l *lane) sessionNew(ev core.Event) {
	if ev.SessionID == l.sessionID || ev.SessionID == "" {
		return
	}
	l.log.Info("session continues under a new id", "old_session", l.sessionID, "new_session", ev.SessionID)
	l.sessionID = ev.SessionID
	l.countCleared(ev.SessionID)
	l.rememberSession(l.holdAck())
}

// rememberSession saves the session's id, and again if it has changed meanwhile.
func (l *lane) rememberSession(then func()) {
	id := l.sessionID
	l.saving++
	l.async(func(context.Context) func() {
		err := l.saveSession(id)
		return func() {
			l.saving--
			if err != nil {
				l.log.Error("session id not saved", "session", id, "err", err)
			}
			if l.sessionID != id {
				l.rememberSession(then)
				return
			}
			then()
		}
	})
}
