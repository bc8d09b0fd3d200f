package lanes

import (
	"fmt"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// retryFreeze is how long a lane waits before it tries again to write a turn of
// messages that the ledger holds already.
const retryFreeze = time.Second

// waitingForLedger is what a lane is busy with until then.
const waitingForLedger = "waiting for the ledger"

// usualMarks is how many marks a turn without tools gets: handed, started, first
// event, ended.
const usualMarks = 4

// dispatch freezes all that waits into the next turn, if none is on its way.
func (l *lane) dispatch() {
	if len(l.pending) == 0 || !l.canDispatch() {
		return
	}
	if batch := l.takeBatch(); len(batch) > 0 {
		l.freeze(batch, false)
	}
}

// takeBatch removes from the queue what becomes the next turn. A keyed message
// that is not durable yet may be a duplicate: it and all behind it wait.
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

// freeze makes the turn durable: its uuid, its members and the exact bytes.
// Messages that are not written yet become durable with it.
func (l *lane) freeze(batch []*queued, steered bool) {
	composed := false
	defer func() {
		if !composed { // a panic: the messages wait as before
			l.pending = append(slices.Clone(batch), l.pending...)
		}
	}()
	f, err := l.newFlight(batch, steered)
	composed = true
	if err != nil && len(batch) > 1 { // one of them spoils it: the first by itself
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
	l.manager.o.Ledger.Write(change, func(err error) {
		l.post(func() { l.freezeDone(f, err) })
	})
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

// newSessionID returns the id of a session that waits for a channel, or of one
// that is to be started.
func (l *lane) newSessionID() string {
	if l.manager.settings.fingerprint(l.key) != "" { // those that wait were started without
		return uuid.NewString()
	}
	if id, ok := l.manager.o.Agent.Reserve(); ok {
		return id
	}
	return uuid.NewString()
}

// refuseOrFail ends messages of which no turn can be made.
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

// unfreeze gives up a turn that the ledger did not take. Messages that were not
// accepted before are refused; the others wait on, unless the turn was stopped.
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
		return // what it is busy with ends by dispatching
	}
	l.busy = waitingForLedger
	time.AfterFunc(retryFreeze, func() {
		l.post(func() {
			if l.busy == waitingForLedger {
				l.proceed()
			}
		})
	})
}

// settleStopped ends messages of a turn that was stopped before it was written.
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

// proceed ends what kept the lane busy: what is frozen is handed over, and what
// waits is dispatched.
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

// hand gives the turn to the session once both are there; without a session one
// is started. If the connection turns out to be broken, the end of the session
// decides what happens next.
func (l *lane) hand(f *inflight) {
	if !f.frozen || f.handed || f.answered || l.busy != "" {
		return
	}
	if f.stop != nil { // stopped before the agent got it
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
	l.touch()
	if f.timer == nil && l.manager.o.TurnTimeout > 0 {
		l.startTimeout(f)
	}
	if err := l.session.Hand(f.turn.ID, f.turn.Line); err != nil {
		l.about(f).Warn("turn not handed over", "err", err)
	}
}

// rehome records that the turn is going to run in the present session, and not
// in the one it was frozen for: its fate is looked up there.
func (l *lane) rebindSession(f *inflight) {
	f.frozen = false // as it stands now
	f.turn.SessionID, f.turn.Opens = l.sessionID, l.unopened
	l.unopened = false
	l.save(core.Change{Update: []*core.Turn{f.turn}}, func() {
		f.frozen = true
		l.hand(f)
	})
}

// steer hands a message to the turn f that is running: a turn of its own for the
// ledger, which the agent may fold into the running one. What cannot be handed
// over now waits like any other.
func (l *lane) steer(it *queued, f *inflight) {
	if !f.handed || f.stop != nil || l.session == nil || l.busy != "" || core.IsCommand(it.msg) || l.manager.budget.used(l.now()) {
		return
	}
	if len(l.pending) != 1 || l.pending[0] != it {
		return // what waits before it must not be overtaken
	}
	l.pending = nil
	l.freeze([]*queued{it}, true)
}
