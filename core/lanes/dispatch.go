package lanes

import (
	"fmt"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// retryFreeze is the pause before a lane retries to write a turn of durable messages.
const retryFreeze = time.Second

// waitingForLedger is the value of lane.busy during retryFreeze.
const waitingForLedger = "waiting for the ledger"

// usualMarks is the number of marks of a turn without tools: handed, started, first event,
// ended.
const usualMarks = 4

// dispatch freezes the waiting messages into the next turn, if the lane can begin a turn.
func (l *lane) dispatch() {
	if len(l.pending) == 0 || !l.canDispatch() {
		return
	}
	if batch := l.takeBatch(); len(batch) > 0 {
		l.freeze(batch, false)
	}
}

// takeBatch removes the next turn's messages from the queue. A message with a source key and
// not durable yet may be a duplicate, so takeBatch stops at the first such message.
func (l *lane) takeBatch() []*queued {
	n := 0
	for n < len(l.pending) && !l.pending[n].moving && !l.pending[n].changing && (l.pending[n].durable || l.pending[n].msg.SourceKey == "") {
		n++
	}
	ms := make([]*core.Message, n)
	for i := range ms {
		ms[i] = l.pending[i].msg
	}
	n = core.BatchSize(ms)
	batch := l.pending[:n:n]
	l.pending = append([]*queued(nil), l.pending[n:]...)
	return batch
}

// freeze writes the turn to the ledger: uuid, members and the exact bytes for the agent.
// Members not written yet become durable in the same change.
func (l *lane) freeze(batch []*queued, steered bool) {
	composed := false
	defer func() {
		if !composed { // a panic: put the messages back
			l.pending = append(slices.Clone(batch), l.pending...)
		}
	}()
	f, err := l.newFlight(batch, steered)
	composed = true
	if err != nil && len(batch) > 1 { // a message makes the batch fail: try the first alone
		l.pending = append(batch[1:], l.pending...)
		l.freeze(batch[:1], steered)
		return
	}
	if err != nil {
		l.log.Error("turn cannot be composed", "message", string(batch[len(batch)-1].msg.ID), "err", err)
		l.refuseOrFail(batch, err)
		l.dispatch()
		return
	}
	change := core.Change{Begin: []*core.Turn{f.turn}}
	for _, it := range batch {
		if !it.written {
			it.written = true
			change.Accept = append(change.Accept, it.msg)
		}
	}
	l.inflight = append(l.inflight, f)
	l.journal.try(change, func(err error) { l.freezeDone(f, err) })
	l.openSession()
}

func (l *lane) newFlight(batch []*queued, steered bool) (*inflight, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a turn id: %w", err)
	}
	t := &core.Turn{
		ID: core.TurnID(id.String()), Channel: l.key, Steered: steered, BegunAt: l.now(),
		Marks: make([]core.Mark, 0, usualMarks),
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
	if t.Line, err = l.manager.o.Agent.Compose(t.ID, content); err != nil {
		return nil, fmt.Errorf("compose turn: %w", err)
	}
	if l.sessionID == "" {
		l.sessionID, l.unopened = l.newSessionID(), true
	}
	t.SessionID, t.Opens = l.sessionID, l.unopened
	t.Notices, l.notices = l.notices, nil
	return &inflight{turn: t, members: batch}, nil
}

// newSessionID returns the id of a spare session reserved from the agent, or a new id.
func (l *lane) newSessionID() string {
	if l.manager.ChannelSettings.Fingerprint(l.key) != "" { // spare sessions run without channel settings
		return uuid.NewString()
	}
	if id, ok := l.manager.o.Agent.Reserve(); ok {
		return id
	}
	return uuid.NewString()
}

// refuseOrFail refuses or fails messages unfit for a turn.
func (l *lane) refuseOrFail(batch []*queued, err error) {
	for _, it := range batch {
		if !it.written {
			l.refuse(it, fmt.Errorf("%w: %w", core.ErrBadContent, err))
			continue
		}
		var v outcomes
		v.set(it, core.Reply{State: core.Failed, IsError: true, Code: core.CodeBadContent, Error: err.Error(), Text: err.Error()})
		l.commitOutcomes(v)
	}
}

func (l *lane) freezeDone(f *inflight, err error) {
	if err != nil {
		l.unfreeze(f, err)
		return
	}
	f.frozen = true
	if f.turn.Opens {
		l.unopened = false
	}
	for _, it := range f.members {
		it.msg.State, it.msg.Turn, it.msg.DispatchedAt = core.Running, f.turn.ID, f.turn.BegunAt
		if !it.durable {
			it.durable = true
			l.announceAccepted(it)
		}
	}
	l.hand(f)
}

// unfreeze abandons a turn refused by the ledger. Members not accepted before are refused;
// durable members return to the queue, unless the turn was stopped.
func (l *lane) unfreeze(f *inflight, err error) {
	l.removeFlight(f)
	var kept []*queued
	for _, it := range f.members {
		switch {
		case it.durable:
			kept = append(kept, it)
		case !it.refused:
			l.refuse(it, err)
		}
	}
	l.about(f).Warn("turn not written", "err", err, "messages_kept", len(kept))
	l.notices = append(f.turn.Notices, l.notices...)
	if f.stop != nil {
		l.settleStopped(f, kept)
		kept = nil
	}
	if len(kept) == 0 {
		l.dispatch()
		return
	}
	l.pending = append(kept, l.pending...)
	l.sortPending()
	if l.busy != "" {
		return // the operation named by busy ends with a dispatch
	}
	l.busy = waitingForLedger
	l.after(retryFreeze, func() {
		if l.busy == waitingForLedger {
			l.proceed()
		}
	})
}

// settleStopped gives an outcome to the durable messages of a turn stopped before the write.
func (l *lane) settleStopped(f *inflight, kept []*queued) {
	if len(kept) == 0 {
		f.stop.wake(nil)
		return
	}
	v := outcomes{told: func() { f.stop.wake(nil) }, unwritten: f.stop.wake}
	for _, it := range kept {
		v.set(it, f.stopReply(""))
	}
	l.commitOutcomes(v)
}

// proceed clears busy, hands over the frozen turns and dispatches the waiting messages.
func (l *lane) proceed() {
	l.busy = ""
	l.handAll()
	l.dispatch()
}

func (l *lane) handAll() {
	for _, f := range l.inflight {
		l.hand(f)
	}
}

func (l *lane) removeFlight(f *inflight) {
	rest := make([]*inflight, 0, len(l.inflight))
	for _, other := range l.inflight {
		if other != f {
			rest = append(rest, other)
		}
	}
	l.inflight = rest
}

// hand sends the turn to the session once the turn is frozen and the session exists, and
// otherwise starts a session. After a failed send, the session's end triggers recovery.
func (l *lane) hand(f *inflight) {
	if !f.frozen || f.handed || f.answered || l.busy != "" {
		return
	}
	if f.stop != nil { // stopped before the handover
		l.finish(f, f.stopReply(""))
		l.release(f)
		return
	}
	if f.turn.SessionID != l.sessionID {
		l.rebindSession(f)
		return
	}
	if l.session == nil {
		l.openSession()
		return
	}
	f.handed = true
	f.attempts++
	f.mark(l.now(), "handed", "")
	l.session.touch()
	if f.timer == nil && l.manager.o.TurnTimeout > 0 {
		l.startTimeout(f)
	}
	if err := l.session.Hand(f.turn.ID, f.turn.Line); err != nil {
		l.about(f).Warn("turn not handed over", "err", err)
	}
}

// rebindSession records the present session as the turn's session, replacing the session of
// the freeze, because recovery looks up the turn's fate in the recorded session.
func (l *lane) rebindSession(f *inflight) {
	f.frozen = false // until the update is durable
	f.turn.SessionID, f.turn.Opens = l.sessionID, l.unopened
	l.unopened = false
	l.journal.save(core.Change{Update: []*core.Turn{f.turn}}, func() {
		f.frozen = true
		l.hand(f)
	})
}

// steer hands a message to the running turn f, as a separate turn in the ledger; the agent
// may fold the new turn into f. If a handover is not possible now, the message waits in the
// queue.
func (l *lane) steer(it *queued, f *inflight) {
	if !f.handed || f.stop != nil || l.session == nil || l.busy != "" || core.IsCommand(it.msg) || l.manager.budget.used(l.now()) {
		return
	}
	if len(l.pending) != 1 || l.pending[0] != it {
		return // must not overtake messages waiting longer
	}
	l.pending = nil
	l.freeze([]*queued{it}, true)
}
