package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// settlePause is how soon a request is looked at again that came while its lane
// was busy with what decides it.
const settlePause = 50 * time.Millisecond

// sessionGone takes up what is left when the session's process, or the host
// that held it, has ended.
func (l *lane) sessionGone() {
	if e := l.exit; e != nil {
		l.log.Info("session ended", "reason", e.Text)
	} else {
		l.log.Warn("session host lost")
	}
	l.session, l.events, l.ready, l.activity = nil, nil, false, ""
	l.holds, l.info = nil, SessionInfo{}
	l.gauge.sessions.Store(0)
	l.voidAsked(func(*ask) bool { return true })
	for _, f := range slices.Clone(l.flights) {
		if f.answered {
			f.cancelTimer()
			l.removeFlight(f)
		}
	}
	if l.resetting != nil {
		l.resetting()
		return
	}
	l.recover(l.flights)
}

// recover ends what is left of the session's processes, finds out what became of
// turns that nobody works on any more, and goes on from there. Nothing is
// dispatched meanwhile.
func (l *lane) recover(turns []*flight) {
	l.busy = "recovering"
	turns = slices.Clone(turns)
	l.async(func(ctx context.Context) func() {
		err := l.m.o.Agent.Reap(ctx, l.key)
		fates := l.fates(ctx, turns)
		return func() {
			if err != nil {
				l.log.Error("old processes not ended", "err", err)
			}
			l.recovered(turns, fates)
		}
	})
}

// A record is what could be read of a turn's fate.
type record struct {
	fate Fate
	err  error
}

// fates reads the fate of each turn. The turns are not changed meanwhile, since
// the lane is busy.
func (l *lane) fates(ctx context.Context, turns []*flight) []record {
	records := make([]record, len(turns))
	for i, f := range turns {
		fate, err := l.m.o.Agent.Fate(ctx, l.key, f.turn.SessionID, f.turn.ID)
		records[i] = record{fate, err}
	}
	return records
}

// recovered decides each turn by its fate: an answer is delivered, a turn that
// never began or was text only runs again under the same uuid, and one that had
// begun a tool is told as interrupted.
func (l *lane) recovered(turns []*flight, records []record) {
	l.busy = ""
	turns, records = l.endStopped(turns, records)
	if l.exit != nil && l.session == nil && len(turns) > 0 {
		switch l.exit.Reason {
		case ExitUnknownSession, ExitSessionInUse:
			if l.restart(turns) {
				return
			}
		case ExitStartFailed:
			l.failAll(turns, exitReply(l.exit, 1))
			return
		case ExitOther:
		}
	}
	var again []*flight
	for i, f := range turns {
		if l.decide(f, records[i]) {
			again = append(again, f)
		}
	}
	l.stray = nil
	for _, f := range again {
		f.handed, f.done, f.died = false, false, l.exit
	}
	if len(again) > 0 {
		l.openSession(again[0])
		l.handAll()
	}
	l.dispatch()
}

// endStopped settles the turns that were being stopped and returns the others.
func (l *lane) endStopped(turns []*flight, records []record) ([]*flight, []record) {
	var rest []*flight
	var restRecords []record
	for i, f := range turns {
		switch {
		case f.answered:
		case f.stop != nil && !records[i].fate.Answered && !records[i].fate.Failed:
			l.finish(f, f.stopReply(records[i].fate.Done))
			l.release(f)
		default:
			rest, restRecords = append(rest, f), append(restRecords, records[i])
		}
	}
	return rest, restRecords
}

// decide settles the turn, or reports that it is to be handed over again.
func (l *lane) decide(f *flight, r record) (again bool) {
	switch {
	case r.err == nil && r.fate.Answered:
		l.finish(f, Reply{State: Answered, Text: r.fate.Text, SessionID: f.turn.SessionID})
	case r.err == nil && r.fate.Failed:
		l.finish(f, failedReply(r.fate))
	case l.stray != nil:
		l.finish(f, resultReply(l.stray, f))
	case r.err != nil && f.attempts > 0:
		l.log.Error("fate of turn unknown", "turn", f.turn.ID, "err", r.err)
		l.finish(f, interruptedReply("The turn was cut, and its record cannot be read ("+r.err.Error()+").", ""))
	case r.fate.ToolBegun || f.toolBegun || r.fate.Interrupted:
		l.finish(f, interruptedReply("The turn was interrupted: "+l.endOf()+".", r.fate.Done))
	case f.attempts >= maxAttempts:
		l.finish(f, exitReply(l.exit, f.attempts))
	default:
		if f.attempts > 0 {
			l.m.stats.resent.Add(1)
			l.log.Info("turn is handed over again", "turn", f.turn.ID, "begun", r.fate.Begun, "attempts", f.attempts)
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
		return l.exit.Text
	}
	return "the process that worked on it is gone"
}

// restart begins the session in the other way when the agent refused the first:
// resuming an id it does not know, or beginning one that exists. It reports
// whether it did.
func (l *lane) restart(turns []*flight) bool {
	for _, f := range turns {
		if f.attempts > maxAttempts {
			return false
		}
		f.handed = false
	}
	if l.exit.Reason == ExitSessionInUse {
		l.begin = beginResume
		l.openSession(turns[0])
		return true
	}
	l.anew(turns)
	return true
}

func (l *lane) failAll(turns []*flight, r Reply) {
	for _, f := range turns {
		l.finish(f, r)
		l.release(f)
	}
	l.dispatch()
}

// restore takes up what an earlier process left and looks for its session host.
func (l *lane) restore(r *remains) {
	items := map[MessageID]*item{}
	for _, msg := range r.messages {
		it := &item{msg: msg, written: true, durable: true}
		items[msg.ID] = it
		if msg.State == Waiting {
			l.pending = append(l.pending, it)
		}
	}
	for _, t := range r.turns {
		f := &flight{turn: t, frozen: true}
		for _, id := range t.Members {
			if it := items[id]; it != nil {
				f.items = append(f.items, it)
			}
		}
		if len(f.items) == 0 {
			l.log.Error("open turn without open messages", "turn", t.ID)
			continue
		}
		l.flights = append(l.flights, f)
		if l.sessionID == "" || t.Opens {
			l.sessionID = t.SessionID // frozen just before its id was saved
		}
	}
	l.busy, l.attaching = "looking for the session host", true
	l.async(func(ctx context.Context) func() {
		s, err := l.m.o.Agent.Attach(ctx, l.key)
		return func() { l.attached(s, err, r.approvals) }
	})
}

// attached goes on with the host that was found, or without one.
func (l *lane) attached(s Session, err error, approvals []*Approval) {
	l.attaching = false
	if err != nil {
		if !errors.Is(err, ErrNoHost) {
			l.log.Warn("session host not attached", "err", err)
		}
		l.restoreAsked(approvals)
		l.voidAsked(func(*ask) bool { return true })
		l.recover(l.flights)
		return
	}
	l.adopt(s)
	l.log.Info("session attached", "host_pid", l.info.HostPID, "turns_in_flight", len(l.flights))
	l.restoreAsked(approvals)
	l.syncAsked()
	var unknown []*flight
	for _, f := range l.flights {
		if l.info.Knows(f.turn.ID) {
			f.handed, f.attempts, f.started = true, 1, f.turn.BegunAt // as far as is known
			if f.stop != nil { // asked for before the host was found
				l.requestEnd(f)
			}
			l.startTimeout(f)
			continue
		}
		unknown = append(unknown, f)
	}
	l.busy = ""
	if len(unknown) == 0 {
		l.dispatch()
		return
	}
	// Not given to this process; perhaps to one before it.
	l.busy = "recovering"
	l.async(func(ctx context.Context) func() {
		records := l.fates(ctx, unknown)
		return func() { l.recovered(unknown, records) }
	})
}

// Reset ends the channel's session and forgets its id; the history stays. Open
// messages are cancelled. It returns when the processes are gone. ErrNotFound
// if the channel has neither a history nor a session.
func (m *ProcessManager) Reset(ctx context.Context, key ChannelKey) error {
	if _, err := m.Channel(ctx, key); err != nil {
		return err
	}
	l, err := m.lane(key)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	l.post(func() { l.reset(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.gone:
		return ErrClosed
	}
}

func (l *lane) reset(done chan<- error) {
	if l.resetting != nil || l.busy != "" || l.opening {
		// Try again once the lane has settled; what it waits for is bounded.
		time.AfterFunc(settlePause, func() { l.post(func() { l.reset(done) }) })
		return
	}
	reply := Reply{State: Cancelled, Code: CodeReset, Error: "The channel was closed."}
	for _, f := range slices.Clone(l.flights) {
		if !f.answered && f.frozen {
			l.finish(f, reply)
		}
		f.stop = &stop{code: CodeReset, text: reply.Error} // for one that is being frozen
	}
	var v verdict
	for _, it := range l.pending {
		if it.durable {
			v.give(it, reply)
		}
	}
	l.settle(v)
	l.pending = slices.DeleteFunc(l.pending, func(it *item) bool { return it.durable })
	l.busy = "closing the channel"
	l.resetting = func() {
		l.async(func(ctx context.Context) func() {
			err := errors.Join(l.m.o.Agent.Reap(ctx, l.key), l.m.o.Sessions.Forget(l.key))
			return func() {
				if err != nil {
					err = fmt.Errorf("close channel %q: %w", l.key, err)
				}
				l.resetting, l.busy, l.sessionID = nil, "", ""
				done <- err
				l.dispatch()
			}
		})
	}
	if l.session == nil {
		l.resetting()
		return
	}
	_ = l.session.Stop(false) // Events closes, whatever happens
}
