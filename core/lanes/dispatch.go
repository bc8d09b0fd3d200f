package lanes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// retryFreeze is the pause before a lane retries to write a turn of durable messages.
const retryFreeze = time.Second

// usualMarks is the number of marks of a turn without tools: handed, started, first event,
// ended.
const usualMarks = 4

// turns are the turns in flight of a channel, from the freeze to the release.
type turns struct {
	*channel
	queue *queue
	conv  *conversation
	desk  *approvalDesk

	list    []*inflight   // turns being frozen, frozen or handed over, in order of dispatch
	notices []core.Notice // to be added to the next turn's reply
}

// running returns the agent's present turn: the first turn without an outcome, or nil.
func (ts *turns) running() *inflight { return ts.first(func(f *inflight) bool { return !f.answered }) }

func (ts *turns) find(id core.TurnID) *inflight {
	return ts.first(func(f *inflight) bool { return f.turn.ID == id })
}

func (ts *turns) first(is func(*inflight) bool) *inflight {
	if i := slices.IndexFunc(ts.list, is); i >= 0 {
		return ts.list[i]
	}
	return nil
}

// current returns the turn of the present events: the running turn once the agent has
// begun the turn. current returns nil for events outside a turn, or of a replayed turn.
func (ts *turns) current() *inflight {
	if f := ts.running(); f != nil && !f.started.IsZero() && (ts.conv.session == nil || len(ts.conv.session.replayed) == 0) {
		return f
	}
	return nil
}

// open counts the channel's messages without an outcome.
func (ts *turns) open() int {
	n := len(ts.queue.items)
	for _, f := range ts.list {
		if !f.answered {
			n += len(f.members)
		}
	}
	return n
}

// remove removes a turn from a copy of the list, so callers may range over the list.
func (ts *turns) remove(f *inflight) {
	ts.list = slices.DeleteFunc(slices.Clone(ts.list), func(other *inflight) bool { return other == f })
}

func (ts *turns) mark(what, detail string) {
	ts.running().mark(ts.eventTime(), what, detail)
}

func (ts *turns) notice(n core.Notice) {
	if f := ts.running(); f != nil {
		f.turn.Notices = append(f.turn.Notices, n)
		return
	}
	ts.notices = append(ts.notices, n)
}

// warn adds a warning of the agent to the reply of the running turn, or of the next turn.
func (ts *turns) warn(text string) {
	const maxBytes, maxWarnings = 1000, 5
	text, _ = core.TruncateText(text, maxBytes)
	n := core.Notice{Code: "claude_warning", Text: "Claude warns: " + text}
	known := ts.notices
	if f := ts.running(); f != nil {
		known = f.turn.Notices
	}
	if len(known) < maxWarnings && !slices.Contains(known, n) {
		ts.notice(n)
	}
}

// freeze takes the first n messages from the queue and writes the turn to the ledger: uuid,
// members and the exact bytes for the agent. Members not written yet become durable in the
// same change.
func (ts *turns) freeze(n int, steered bool) {
	batch := slices.Clone(ts.queue.items[:n])
	f, err := ts.newFlight(batch, steered)
	if err != nil && n > 1 { // a message makes the batch fail: try the first alone
		ts.freeze(1, steered)
		return
	}
	ts.queue.items = slices.Delete(ts.queue.items, 0, n)
	if err != nil {
		ts.refuseOrFail(batch[0], err)
		return
	}
	change := core.Change{Begin: []*core.Turn{f.turn}}
	for _, it := range batch {
		if !it.written {
			it.written = true
			change.Accept = append(change.Accept, it.msg)
		}
	}
	ts.list = append(ts.list, f)
	ts.journal.try(change, func(err error) { ts.freezeDone(f, err) })
	ts.openSession()
}

func (ts *turns) newFlight(batch []*queued, steered bool) (*inflight, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a turn id: %w", err)
	}
	t := &core.Turn{
		ID:      core.TurnID(id.String()),
		Channel: ts.key,
		Steered: steered,
		BegunAt: ts.now(),
		Marks:   make([]core.Mark, 0, usualMarks),
	}
	ms := make([]*core.Message, len(batch))
	for i, it := range batch {
		ms[i] = it.msg
		t.Members = append(t.Members, it.msg.ID)
		t.CanAsk = t.CanAsk || it.msg.CanAsk
	}
	content, err := core.Coalesce(ms)
	if err != nil {
		return nil, err
	}
	if t.Line, err = ts.manager.o.Agent.Compose(t.ID, content); err != nil {
		return nil, fmt.Errorf("compose turn: %w", err)
	}
	if ts.conv.id == "" {
		ts.conv.id, ts.conv.unopened = ts.conv.newID(), true
	}
	t.SessionID, t.Opens = ts.conv.id, ts.conv.unopened
	if len(ts.manager.o.Greeting) > 0 && ts.manager.lanes.greet(ts.key) {
		ts.notices = slices.Concat(ts.manager.o.Greeting, ts.notices)
	}
	t.Notices, ts.notices = ts.notices, nil
	return &inflight{turn: t, members: batch}, nil
}

func (ts *turns) refuseOrFail(it *queued, err error) {
	ts.log.Error("turn cannot be composed", "message", string(it.msg.ID), "err", err)
	if !it.written {
		ts.queue.refuse(it, fmt.Errorf("%w: %w", core.ErrBadContent, err))
		return
	}
	var v outcomes
	v.set(it, failure(core.CodeBadContent, err.Error()))
	ts.commitOutcomes(v)
}

// freezeDone makes the turn ready for the handover, once the ledger has answered.
func (ts *turns) freezeDone(f *inflight, err error) {
	if err != nil {
		ts.unfreeze(f, err)
		return
	}
	f.frozen = true
	if f.turn.Opens {
		ts.conv.unopened = false
	}
	for _, it := range f.members {
		it.msg.State, it.msg.Turn, it.msg.DispatchedAt = core.Running, f.turn.ID, f.turn.BegunAt
		if !it.durable {
			it.durable = true
			ts.queue.announceAccepted(it)
		}
	}
}

// unfreeze abandons a turn refused by the ledger. Members not accepted before are refused;
// durable members return to the queue, unless the turn was stopped.
func (ts *turns) unfreeze(f *inflight, err error) {
	ts.remove(f)
	var kept []*queued
	for _, it := range f.members {
		switch {
		case it.durable:
			kept = append(kept, it)
		case !it.refused:
			ts.queue.refuse(it, err)
		}
	}
	ts.about(f).Warn("turn not written", "err", err, "messages_kept", len(kept))
	ts.notices = append(f.turn.Notices, ts.notices...)
	if len(kept) == 0 {
		f.stop.wake(nil)
		return
	}
	if f.stop != nil && !f.stop.again {
		v := outcomes{stops: []*stop{f.stop}}
		for _, it := range kept {
			v.set(it, f.stop.reply)
		}
		ts.commitOutcomes(v)
		return
	}
	ts.queue.putBack(kept)
	if ts.isBusy() {
		return
	}
	ts.beginOperation(awaitingLedger)
	ts.after(retryFreeze, func() {
		if ts.operation == awaitingLedger {
			ts.endOperation()
		}
	})
}

// hand sends the turn to the session once the turn is frozen and the session exists, and
// otherwise starts a session. After a failed send, the session's end triggers recovery.
func (ts *turns) hand(f *inflight) {
	if !f.frozen || f.handed || f.answered || ts.isBusy() {
		return
	}
	if f.stop != nil { // stopped before the handover
		ts.end(f, f.stop.reply)
		return
	}
	if f.turn.SessionID != ts.conv.id {
		ts.rebind(f)
		return
	}
	if ts.conv.session == nil {
		ts.openSession()
		return
	}
	f.handed = true
	f.attempts++
	f.mark(ts.now(), "handed", "")
	ts.conv.session.touch()
	ts.startTimeout(f)
	if err := ts.conv.session.Hand(f.turn.ID, f.turn.Line); err != nil {
		ts.about(f).Warn("turn not handed over", "err", err)
	}
}

// rebind records the present session as the turn's session, replacing the session of
// the freeze, because recovery looks up the turn's fate in the recorded session.
func (ts *turns) rebind(f *inflight) {
	f.frozen = false // until the update is durable
	f.turn.SessionID, f.turn.Opens = ts.conv.id, ts.conv.unopened
	ts.conv.unopened = false
	ts.journal.save(core.Change{Update: []*core.Turn{f.turn}}, func() { f.frozen = true }, nil)
}

// steer hands a message to the running turn f, as a separate turn in the ledger; the agent
// may fold the new turn into f. If a handover is not possible now, the message waits in the
// queue.
func (ts *turns) steer(it *queued, f *inflight) {
	if !f.handed || f.stop != nil || ts.conv.session == nil || ts.isBusy() || core.IsCommand(it.msg) || ts.manager.budget.Used(ts.now()) {
		return
	}
	if len(ts.queue.items) != 1 || ts.queue.items[0] != it {
		return // must not overtake messages waiting longer
	}
	ts.freeze(1, true)
}

func (ts *turns) openSession() {
	if ts.conv.session != nil || ts.conv.opening || ts.conv.isHeld() || !ts.conv.slot.Acquire() {
		return
	}
	ts.conv.opening = true
	id, unopened := ts.conv.id, ts.conv.unopened
	exists := ts.conv.exit != nil && ts.conv.exit.Reason == core.ExitSessionInUse
	ts.manager.wg.Go(func() {
		o := opening{err: &core.AgentError{Code: core.CodeInternal, Text: internalText}} // unless launch returns
		defer func() {
			if p := recover(); p != nil {
				ts.logPanic(p)
			}
			ts.post(func() { ts.opened(o) }) // also when the lane is leaving, because leave waits for opened
		}()
		o = ts.conv.launch(ts.manager.ctx, id, unopened, exists)
	})
}

func (ts *turns) opened(o opening) {
	ts.conv.opening = false
	switch {
	case ts.conv.detachIfLeaving(o.session):
		return
	case o.err != nil:
		if e, ok := errors.AsType[*core.AgentError](o.err); ok && e.Wait != "" {
			ts.hold(e.Wait)
			return
		}
		ts.log.Error("session not started", "err", o.err)
		ts.endTurns(startFailure(o.err))
		return
	}
	ts.conv.adopt(o.session)
	ts.conv.refusals = o.refusals
	ts.conv.cost.Launch(o.launch.SessionID, o.cost)
	ts.log.Info("session started", "session", o.launch.SessionID, "resume", o.launch.Resume, "host_pid", ts.conv.session.info.HostPID,
		"agent_version", ts.conv.session.info.Version)
	if o.saveError != nil {
		ts.log.Error("session id not saved", "err", o.saveError)
		ts.notice(core.Notice{
			Code: "session_not_saved",
			Text: "The session id could not be saved (" + o.saveError.Error() +
				"): this conversation may not be found again after a restart.",
		})
	}
}
