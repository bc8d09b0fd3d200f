package lanes

import (
	"cmp"
	"fmt"
	"time"

	"bareclaw/core"
)

// interruptGrace is how long the agent may take to end a turn on request before the lane
// ends the agent's process. Users are promised two seconds in all.
const interruptGrace = 1300 * time.Millisecond

// A stop is the reason for ending a turn early.
type stop struct {
	code, text string
	failed     bool           // the outcome is a failure instead of a cancellation
	grace      time.Duration  // time for the agent to end the turn; 0 means interruptGrace
	waiters    []chan<- error // each channel has room for the value sent
}

// wake notifies all waiters of the turn's end; a non-nil err says why the outcome cannot be
// recorded yet.
func (s *stop) wake(err error) {
	if s == nil {
		return
	}
	for _, w := range s.waiters {
		w <- err
	}
	s.waiters = nil
}

// stopReply returns the outcome of a stopped turn.
func (f *inflight) stopReply(done string) core.Reply {
	r := core.Reply{State: core.Cancelled, IsError: true, Code: f.stop.code, Error: f.stop.text}
	if f.stop.failed {
		r.State = core.Failed
	}
	if done != "" {
		r.Error += " Done before that: " + done + "."
	}
	r.Text, r.Done = r.Error, done
	return r
}

// interrupt ends a turn: first by a request to the agent, and after the grace period by
// ending the agent's process. A turn not handed over ends at once.
func (l *lane) interrupt(f *inflight, s *stop) {
	if f.stop != nil {
		f.stop.waiters = append(f.stop.waiters, s.waiters...)
		l.hurry(f, s)
		return
	}
	f.stop = s
	f.mark(l.now(), "stop", s.code)
	switch {
	case !f.frozen: // freezeDone handles the stop
	case !f.handed && l.busy == "":
		l.finish(f, f.stopReply(""))
		l.release(f)
	case l.session != nil && f.handed:
		l.requestEnd(f)
	default: // attached or applyFates handles the stop
	}
}

// requestEnd requests the end of the turn from the agent, and schedules kill after the grace
// period. A starting agent would begin the turn first, so requestEnd ends a starting agent
// at once. During a replay the turn may already have ended, and the request would hit the
// agent's next turn, so requestEnd waits for the end of the replay.
func (l *lane) requestEnd(f *inflight) {
	if l.session.replaying() {
		l.session.interruptLater = true
		return
	}
	if !l.session.ready {
		l.kill(f)
		return
	}
	if err := l.session.Interrupt(); err != nil {
		l.about(f).Warn("interrupt not sent", "err", err)
	}
	l.killAfter(f, f.stop.patience())
}

// endStopped requests the end of stopped turns after the end of the replay.
func (l *lane) endStopped() {
	if l.session == nil || !l.session.interruptLater || l.session.replaying() {
		return
	}
	l.session.interruptLater = false
	for _, f := range l.inflight {
		if f.stop != nil && f.handed && !f.answered {
			l.requestEnd(f)
		}
	}
}

func (s *stop) patience() time.Duration { return cmp.Or(s.grace, interruptGrace) }

func (l *lane) killAfter(f *inflight, d time.Duration) {
	f.cancelTimer()
	f.timer = l.after(d, func() { l.kill(f) })
}

// hurry shortens the grace period of a turn already being stopped, when a later stop has a
// shorter grace period.
func (l *lane) hurry(f *inflight, s *stop) {
	if s.patience() < f.stop.patience() {
		f.stop.grace = s.grace
		if f.handed && l.session != nil {
			l.killAfter(f, s.patience())
		}
	}
}

// kill ends the agent's process after the agent failed to end the turn.
func (l *lane) kill(f *inflight) {
	if f.answered || l.session == nil {
		return
	}
	l.about(f).Warn("turn is ended with the agent's process", "agent_ready", l.session.ready)
	how := core.StopNow
	if f.stop != nil && f.stop.patience() >= patientGrace { // no caller waits
		how = core.StopPatiently
	}
	if err := l.session.Stop(how); err != nil {
		l.log.Error("agent not ended", "err", err)
	}
}

// startTimeout starts the turn's timer if turns have a time limit.
func (l *lane) startTimeout(f *inflight) {
	d := l.manager.o.TurnTimeout
	if d <= 0 || f.timer != nil {
		return
	}
	s := &stop{code: core.CodeTimeout, failed: true, text: fmt.Sprintf("The turn took longer than %s allows (%s) and was interrupted. The session is kept.", l.manager.o.Advice.timeout(), d)}
	f.timer = l.after(d, func() {
		if !f.answered {
			l.interrupt(f, s)
		}
	})
}
