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
	// releaseAfter is how long the lane waits, after a turn's result, for the agent to
	// report the end of the turn.
	releaseAfter = 2 * time.Second
	// recordAfter is how long a turn ended by the agent waits for a result with the turn's
	// id, before the lane reads the agent's own record instead.
	recordAfter = 500 * time.Millisecond
	// holdAtMost is how long the end of a folded turn stays unacknowledged for a new
	// process. The enclosing turn may be long, and the host keeps all later events
	// meanwhile.
	holdAtMost = time.Minute
)

// handleEvent acts on one event of the session.
func (l *lane) handleEvent(ev core.Event) {
	if ev.Kind == core.LogFull {
		l.onHostBlocked(ev.Detail)
		return
	}
	l.onHostUnblocked()
	s := l.session
	s.acks.last = ev.Seq
	if ev.Kind == core.SessionNew {
		s.acks.last-- // the remaining events of the same line follow with the same number
	}
	receivedAt := time.Time{}
	if ev.Seq <= s.info.Said {
		receivedAt = ev.At
	}
	l.handling(ev.Seq, receivedAt)
	if ev.Model != "" {
		l.model = ev.Model
	}
	again := s.replayed.isReplay(ev, l.findInflight(ev.Turn) != nil)
	if ev.Kind == core.TurnState {
		l.turnState(ev) // first: the start of a turn is published before the turn's events
	}
	if ev.Raw != nil && !again && l.listening() {
		u := core.Update{Kind: core.UpdateEvent, Raw: ev.Raw}
		if f := l.currentTurn(); f != nil {
			u.Turn, u.Messages = f.turn.ID, f.turn.Members
		}
		l.publish(u)
	}
	l.noteOutput(ev)
	switch ev.Kind {
	case core.Said, core.TurnState:
	case core.Resulted:
		l.resulted(ev)
		s.replayed.drop(ev.Result.Turns)
	case core.Requested:
		l.requested(*ev.Request)
	case core.RequestGone:
		l.voidAsked(func(a *pendingApproval) bool { return a.approval.RequestID == ev.Request.ID })
	case core.SessionNew:
		l.sessionNew(ev)
	case core.ToolBegun:
		l.toolBegun(ev)
	case core.ToolEnded:
		s.activity.end(ev.ToolID)
		if f := l.running(); f != nil {
			f.callEnded(l.eventTime(), ev.ToolID)
		}
	case core.Retrying:
		if !again {
			l.retrying(ev)
		}
	case core.Limited:
		l.limit = ev.Until
	case core.TasksChanged:
		s.background.setTasks(ev.Tasks)
	case core.Readied:
		s.ready, l.startRefusals = true, 0
		l.markRunning("agent_ready", "")
	case core.Exited:
		l.exit = ev.Exit
		l.releaseOpenAcks()
		s.acks.flush() // the host exits after the acknowledgement
	}
	s.acks.flushEvery()
}

// noteOutput records whether the agent works without a request, for example on the report of
// a background task, and marks the first output in a turn.
func (l *lane) noteOutput(ev core.Event) {
	switch ev.Type {
	case "assistant", "stream_event":
		l.session.background.reporting = len(l.inflight) == 0
		if f := l.currentTurn(); f != nil && !f.spoke {
			f.spoke = true
			f.mark(l.eventTime(), "first_event", "")
		}
	case "result":
		l.session.background.reporting = false
	}
}

// currentTurn returns the turn of the present events: the running turn once the agent has
// begun the turn. currentTurn returns nil for events outside a turn, or of a replayed turn.
func (l *lane) currentTurn() *inflight {
	if f := l.running(); f != nil && !f.started.IsZero() && (l.session == nil || len(l.session.replayed) == 0) {
		return f
	}
	return nil
}

// toolBegun marks the running turn as having begun a tool, after which the gateway never
// runs the turn again without a request. An event without a tool name only announces the
// call.
func (l *lane) toolBegun(ev core.Event) {
	f := l.currentTurn()
	if f == nil {
		return
	}
	f.toolBegun = true
	if ev.Tool != "" {
		l.session.activity.begin(ev)
		f.markCall(l.eventTime(), ev.ToolID, l.session.activity.last)
	}
}

// retrying publishes the agent's retry of a failed API call. If the API refuses the login,
// retrying ends the turn, because further retries cannot succeed.
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

// releaseOpenAcks lets the lane acknowledge events of turns without an outcome, because from
// now on every process reads the fate of such turns from the agent's record.
func (l *lane) releaseOpenAcks() {
	for _, f := range l.inflight {
		if !f.answered {
			f.releaseAcks()
		}
	}
}

func (l *lane) turnState(ev core.Event) {
	f := l.findInflight(ev.Turn)
	if f == nil { // the turn already has an outcome
		return
	}
	switch ev.Phase {
	case core.PhaseQueued:
	case core.PhaseStarted:
		// A replayed start happened before the interrupt was requested, and the agent may be
		// working on another turn by now.
		early := f.stop != nil && f.started.IsZero() && !f.answered && ev.Seq > l.session.info.Said
		f.started = l.eventTime()
		f.mark(f.started, "started", "")
		l.publish(core.Update{Kind: core.UpdateStarted, Turn: f.turn.ID, Messages: f.turn.Members})
		if early { // the interrupt was requested before the agent had begun the turn
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
		f.holds = append(f.holds, l.session.acks.hold())
		l.after(holdAtMost, func() {
			if !f.answered {
				f.releaseAcks()
			}
		})
		l.lookUpDone()
	}
}

// lookUpDone schedules a look-up of ended turns without a result. A folded turn ends just
// before the enclosing turn's result arrives, so lookUpDone does nothing while another turn
// may still deliver the result. The enclosing turn may also be the agent's own, after a
// background task, so the look-up waits for recordAfter.
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
		l.after(recordAfter, func() { l.lookUp(f, s) })
	}
}

// lookUp reads the agent's record of a turn ended in session s, unless the turn has an
// outcome by now or session s has ended.
func (l *lane) lookUp(f *inflight, s *agentSession) {
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

// fromRecord gives a turn without a result the outcome found in the agent's own record.
func (l *lane) fromRecord(f *inflight, fate core.Fate, err error) {
	f.addFate(fateRecord{fate, err})
	if l.fold(f, fate) { // the enclosing turn is looked up too, or has a result coming
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
		l.finish(f, exitReply(f.lastExit, f.attempts)) // the agent does not run an interrupted turn more than once
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
		if len(r.Turns) == 0 && r.IsError && l.running() != nil && len(l.session.replayed) == 0 {
			l.unattributedResult = r
		}
		return
	}
	l.unattributedResult = nil
	reply := resultReply(r, named[0])
	l.cost.note(r)
	reply.CostUSD, reply.SessionID = l.cost.add(r, l.session.isKnown()), r.SessionID
	if r.Code == core.CodeBadModel {
		reply = l.withUndo(reply)
	}
	l.finishAll(named, reply, r)
	l.lookUpDone()
}

// resultReply converts the agent's result into a reply.
func resultReply(r *core.Result, f *inflight) core.Reply {
	switch {
	case !r.IsError:
		return core.Reply{State: core.Answered, Text: r.Text}
	case r.Interrupted && f.stop != nil:
		return f.stopReply("")
	case r.Interrupted: // on request of an earlier gateway process
		return core.Reply{State: core.Cancelled, IsError: true, Code: core.CodeInterrupted, Error: r.Error, Text: r.Error}
	}
	reply := core.Reply{State: core.Failed, IsError: true, Code: r.Code, Error: r.Error, Text: r.Text}
	if reply.Text == "" {
		reply.Text = r.Error
	}
	return reply
}

// background records and publishes a result belonging to no message.
func (l *lane) background(ev core.Event) {
	r := ev.Result
	l.session.background.newsUntil = time.Time{}
	l.cost.note(r)
	// The line contains a uuid, so a replayed line yields the same id.
	id := uuid.NewSHA1(uuid.NameSpaceOID, ev.Raw).String()
	if l.cost.isCounted(id) {
		return
	}
	cost := l.cost.add(r, l.session.isKnown())
	b := &core.Background{
		ID: id, Channel: l.key, Text: cmp.Or(r.Text, r.Error), IsError: r.IsError, CreatedAt: l.now(),
		SessionID: l.sessionID, CostUSD: cost, TotalCost: r.TotalCost,
	}
	if l.log.Enabled(l.manager.ctx, slog.LevelDebug) {
		text, _ := core.TruncateText(b.Text, core.MaxPromptBytes)
		l.log.Debug("background result", "id", b.ID, "text", text)
	}
	l.manager.budget.add(b.CreatedAt, cost)
	release := l.session.acks.hold()
	c := core.Change{Background: []*core.Background{b}, Lazy: true}
	if d, err := l.manager.Adapters.ForBackground(b); err != nil {
		l.log.Error("background result is not delivered", "err", err)
	} else if d != nil {
		c.Deliver = []*core.Delivery{d}
	}
	l.journal.save(c, func() {
		l.manager.Adapters.HandOver(c.Deliver)
		release()
	})
	l.publish(core.Update{Kind: core.UpdateBackground, Background: b})
}

// sessionNew adopts the agent's new session id (/clear creates a new id).
func (l *lane) sessionNew(ev core.Event) {
	if ev.SessionID == l.sessionID || ev.SessionID == "" {
		return
	}
	l.log.Info("session continues under a new id", "old_session", l.sessionID, "new_session", ev.SessionID)
	l.sessionID = ev.SessionID
	l.cost.clear(ev.SessionID)
	l.rememberSession(l.session.acks.hold())
}

// rememberSession saves the session id, repeats the save if the id has changed meanwhile,
// and then runs then on the lane's goroutine.
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
