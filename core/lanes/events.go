package lanes

import (
	"bytes"
	"slices"
	"time"

	"bareclaw/core"
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

type listener struct {
	*channel
	queue    *queue
	conv     *conversation
	desk     *approvalDesk
	calls    *toolRequests
	turns    *turns
	recovery *recovery
	ownTurns *ownTurns
}

func (ln *listener) handle(ev *core.Event) {
	if ev.Kind == core.LogFull {
		ln.onHostBlocked(ev.Detail)
		return
	}
	s := ln.conv.session
	if s.hostBlocked != "" {
		s.hostBlocked = ""
		ln.log.Info("claude is read again")
	}
	s.acks.last = ev.Seq
	if ev.Kind == core.SessionNew {
		s.acks.last-- // the remaining events of the same line follow with the same number
	}
	receivedAt := time.Time{}
	if ev.Seq <= s.info.Said {
		receivedAt = ev.At
	}
	ln.handling(ev.Seq, receivedAt)
	if ev.Model != "" {
		ln.conv.model = ev.Model
	}
	ln.conv.noteVersion(ev.Version)
	again := s.replayed.isReplay(ev, ln.turns.find(ev.Turn) != nil)
	if ev.Kind == core.TurnState {
		ln.turnState(ev) // first: the start of a turn is published before the turn's events
	}
	if ev.Raw != nil && !again && ln.listening() {
		u := core.Update{Kind: core.UpdateEvent, Raw: bytes.Clone(ev.Raw)}
		if f := ln.turns.current(); f != nil {
			u.Turn, u.Messages = f.turn.ID, f.turn.Members
		}
		ln.publish(u)
	}
	ln.noteOutput(ev)
	switch ev.Kind {
	case core.Said, core.TurnState:
	case core.Resulted:
		ln.resulted(ev)
		s.background.endTurn()
		s.replayed.drop(ev.Result.Turns)
	case core.Requested:
		ln.desk.request(*ev.Request, ln.turns.running())
	case core.ToolRequested:
		r := *ev.ToolRequest
		r.At = ev.At
		ln.calls.begin(r, ln.turns.running())
	case core.ToolCancelled:
		ln.calls.cancel(func(r *toolRequest) bool { return r.MessageID == ev.ToolRequest.MessageID })
	case core.RequestGone:
		ln.calls.cancel(func(r *toolRequest) bool { return r.ID == ev.Request.ID })
		ln.desk.void(func(a *pendingApproval) bool { return a.approval.RequestID == ev.Request.ID })
	case core.SessionNew:
		ln.sessionNew(ev)
	case core.ToolBegun:
		ln.toolBegun(ev)
	case core.ToolEnded:
		s.activity.end(ev.ToolID)
		if f := ln.turns.running(); f != nil {
			f.callEnded(ln.eventTime(), ev.ToolID)
		}
	case core.Retrying:
		if !again {
			ln.retrying(ev)
		}
	case core.Limited:
		ln.queue.limit = ev.Until
	case core.TasksChanged:
		s.background.setTasks(ev.Tasks)
	case core.OwnTurn:
		ln.ownTurns.begin(ev)
	case core.Warned:
		if !again {
			ln.turns.warn(ev.Detail)
		}
	case core.Readied:
		s.ready, ln.conv.startRefusals, ln.conv.held = true, 0, nil
		ln.turns.mark("agent_ready", "")
	case core.Exited:
		ln.conv.exit = ev.Exit
		ln.turns.releaseOpenAcks()
		s.acks.flush() // the host exits after the acknowledgement
	}
	s.acks.flushEvery()
}

// noteOutput records whether the agent works without a request, for example on the report of
// a background task, and marks the first output in a turn.
func (ln *listener) noteOutput(ev *core.Event) {
	switch ev.Type {
	case "assistant", "stream_event":
		ln.conv.session.background.Speaks(len(ln.turns.list) > 0)
		if f := ln.turns.current(); f != nil && !f.spoke {
			f.spoke = true
			f.mark(ln.eventTime(), "first_event", "")
		}
	}
}

// toolBegun marks the running turn as having begun a tool, after which the gateway never
// runs the turn again without a request. An event without a tool name only announces the
// call.
func (ln *listener) toolBegun(ev *core.Event) {
	f := ln.turns.current()
	if f == nil {
		return
	}
	f.toolBegun = true
	if ev.Tool != "" {
		ln.conv.session.activity.begin(ev)
		f.markCall(ln.eventTime(), ev.ToolID, ln.conv.session.activity.last)
	}
}

// retrying publishes the agent's retry of a failed API call. If the API refuses the login,
// retrying ends the turn, because further retries cannot succeed.
func (ln *listener) retrying(ev *core.Event) {
	ln.turns.mark("retry", ev.Detail)
	u := core.Update{Kind: core.UpdateRetrying, Detail: ev.Detail}
	f := ln.turns.current()
	if f != nil {
		u.Turn, u.Messages = f.turn.ID, f.turn.Members
	}
	ln.publish(u)
	if ev.Status == statusUnauthorized && f != nil && f.stop == nil {
		ln.turns.interrupt(f, &stop{reply: failure(core.CodeNotLoggedIn, loginText), grace: patientGrace})
	}
}

func (ln *listener) turnState(ev *core.Event) {
	f := ln.turns.find(ev.Turn)
	if f == nil { // the turn already has an outcome
		return
	}
	switch ev.Phase {
	case core.PhaseQueued:
	case core.PhaseStarted:
		// A replayed start happened before the interrupt was requested, and the agent may be
		// working on another turn by now.
		early := f.stop != nil && f.started.IsZero() && !f.answered && ev.Seq > ln.conv.session.info.Said
		f.started = ln.eventTime()
		f.mark(f.started, "started", "")
		ln.publish(core.Update{Kind: core.UpdateStarted, Turn: f.turn.ID, Messages: f.turn.Members})
		if early { // the interrupt was requested before the agent had begun the turn
			if err := ln.conv.session.Interrupt(); err != nil {
				ln.turns.about(f).Warn("interrupt not sent", "err", err)
			}
		}
	case core.PhaseCompleted, core.PhaseCancelled:
		f.agentDone = true
		if f.answered {
			ln.turns.release(f)
			return
		}
		f.holds = append(f.holds, ln.conv.session.acks.hold())
		ln.after(holdAtMost, func() {
			if !f.answered {
				f.releaseAcks()
			}
		})
		ln.recovery.lookUpDone()
	}
}

func (ln *listener) resulted(ev *core.Event) {
	r := ev.Result
	if r.Background || ln.ownTurns.owns(r) {
		ln.ownTurns.end(ev)
		return
	}
	var named []*inflight
	for _, f := range ln.turns.list {
		if !f.answered && slices.Contains(r.Turns, f.turn.ID) {
			named = append(named, f)
		}
	}
	if len(named) == 0 {
		if len(r.Turns) == 0 && r.IsError && ln.turns.running() != nil && len(ln.conv.session.replayed) == 0 {
			ln.conv.unassigned = r
		}
		return
	}
	ln.conv.unassigned = nil
	reply := resultReply(r, named[0].stop)
	ln.conv.cost.Note(r)
	reply.CostUSD, reply.SessionID = ln.conv.cost.Add(r, ln.conv.session.isKnown()), r.SessionID
	if r.Code == core.CodeBadModel {
		reply = ln.conv.withUndo(reply)
	}
	ln.turns.finish(named, reply, r)
	ln.recovery.lookUpDone()
}

// sessionNew adopts the agent's new session id (/clear creates a new id).
func (ln *listener) sessionNew(ev *core.Event) {
	if ev.SessionID == ln.conv.id || ev.SessionID == "" {
		return
	}
	ln.log.Info("session continues under a new id", "old_session", ln.conv.id, "new_session", ev.SessionID)
	ln.conv.id = ev.SessionID
	ln.conv.cost.Clear(ev.SessionID)
	ln.conv.remember(ln.conv.session.acks.hold())
}

// onHostBlocked handles the host's report of a full log: the host cannot store the agent's
// output and stops reading. onHostBlocked acknowledges all events not needed again, to free
// space. why is part of a sentence for a person when a write fails, and empty when the log
// was only too large.
func (ln *listener) onHostBlocked(why string) {
	works := func(f *inflight) bool { return f.handed && !f.answered && !f.agentDone }
	if slices.ContainsFunc(ln.turns.list, works) {
		ln.turns.releaseOpenAcks() // of folded turns: the result naming the turns may be the output the host cannot store
	}
	ln.conv.session.acks.flush()
	if why == "" || ln.conv.session.hostBlocked != "" {
		return
	}
	ln.conv.session.hostBlocked = "Claude's output cannot be stored, so the turn waits: " + why + ". The turn then continues by itself."
	ln.log.Error("claude's output is not read, because the host cannot store it", "why", why)
	if f := ln.turns.running(); f != nil {
		f.mark(ln.now(), "not_read", why)
		ln.turns.tellStalled(f, ln.conv.session.hostBlocked)
	}
}
