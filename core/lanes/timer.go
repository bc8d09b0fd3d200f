package lanes

import (
	"cmp"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// idleDue returns when to end the unused session, or when to check again; zero if never.
func (l *lane) idleDue() time.Time {
	if !l.unused() {
		return time.Time{}
	}
	if news := l.conv.session.background.NewsUntil; time.Now().Before(news) {
		return news // to check again
	}
	if !l.conv.session.background.OwnTurn && l.conv.outdated() != "" {
		return l.conv.session.activity.lastHeard
	}
	if l.manager.o.IdleTimeout <= 0 {
		return time.Time{}
	}
	return l.conv.session.activity.lastHeard.Add(l.manager.o.IdleTimeout)
}

// unused reports whether the session can be ended without a loss: the session has no turn
// and no background tasks, gets no turn now, and waits for no approval.
func (l *lane) unused() bool {
	return l.conv.session != nil && !l.isBusy() && len(l.turns.list) == 0 && len(l.desk.pending) == 0 && len(l.calls.running) == 0 && l.conv.session.background.Tasks == 0 &&
		(len(l.queue.items) == 0 || l.queue.parked != nil)
}

func (l *lane) evict() {
	switch {
	case l.conv.ending || !l.conv.slot.Evicting(): // the session is ending, in use again, or gone
	case l.unused() && !l.conv.session.background.OwnTurn:
		l.manager.stats.Evicted.Add(1)
		l.conv.end("another channel needs a session")
	default:
		l.conv.slot.SetIdle(false)
	}
}

func (l *lane) updateSlot() {
	switch {
	case l.conv.slot.Free() || l.conv.ending:
	case l.conv.session == nil && !l.conv.opening && !l.isBusy() && len(l.turns.list) == 0:
		if len(l.queue.items) == 0 || l.queue.parked != nil {
			l.conv.slot.Release()
		}
	default:
		l.conv.slot.SetIdle(l.unused() && !l.conv.session.background.OwnTurn)
	}
}

// stallDue returns when the running turn counts as stuck without further events. stallDue
// returns zero while a person decides an approval, while a tool of the gateway is at work, while the host does not read the agent,
// while the turn is being ended, and after the channel has been notified.
func (l *lane) stallDue() time.Time {
	after := l.manager.o.StallAfter
	if after <= 0 || l.conv.session == nil || len(l.desk.pending) > 0 || len(l.calls.running) > 0 || l.conv.session.hostBlocked != "" {
		return time.Time{}
	}
	if f := l.turns.running(); f == nil || !f.handed || f.stop != nil {
		return time.Time{}
	}
	return l.conv.session.activity.stallDue(after)
}

func (l *lane) stalled() {
	f := l.turns.running()
	silence, last := l.conv.session.activity.silence(), l.conv.session.activity.describe()
	l.conv.session.activity.reported = true
	l.manager.stats.Stalled.Add(1)
	l.turns.about(f).Warn("turn is stuck", "silent_for", silence, "last_activity", last, "action", cmp.Or(l.manager.o.StallAction, StallNotify))
	f.mark(l.now(), "stalled", last)
	what := fmt.Sprintf("Nothing was heard of Claude for %s (last known: %s).", silence, last)
	s := &stop{grace: patientGrace}
	switch l.manager.o.StallAction {
	case StallInterrupt:
		s.reply = failure(core.CodeStalled, what+" The turn was interrupted.")
		l.turns.tellStalled(f, what+" The turn is being interrupted.")
		l.turns.interrupt(f, s)
	case StallKill:
		s.reply = failure(core.CodeStalled, what+" Its process was ended; the conversation is kept.")
		l.turns.tellStalled(f, what+" Its process is being ended.")
		f.stop = s
		f.mark(l.now(), "stop", s.reply.Code)
		f.cancelTimer()
		l.turns.kill(f)
	default: // StallNotify
		l.turns.tellStalled(f, what+" The turn goes on; interrupt it if it should not.")
	}
}

// A timer is the lane's single timer for deadlines without an event: a stuck turn, an idle
// session, the end of a pause.
type timer struct {
	timer *time.Timer
	set   time.Time // when the timer fires; zero while not set
}

// setTimer sets the timer to the earliest deadline. setTimer never moves the timer to a
// later time; onTimer checks the deadlines and the next step sets the timer again. A turn of
// usual length therefore costs no timer.
func (l *lane) setTimer() {
	due := wait.Earliest(l.stallDue(), l.idleDue(), l.queue.parkDue())
	if due.IsZero() || !l.timer.set.IsZero() && !due.Before(l.timer.set) {
		return
	}
	l.timer.set = due
	if l.timer.timer == nil {
		l.timer.timer = l.after(time.Until(due), l.onTimer)
		return
	}
	l.timer.timer.Reset(time.Until(due))
}

// onTimer acts on reached deadlines. Unhandled events of the agent come first, because the
// events may have arrived in time while the gateway process was suspended.
func (l *lane) onTimer() {
	l.timer.set = time.Time{}
	if len(l.conv.events()) > 0 {
		return // the step after the events sets the timer again
	}
	over := func(due time.Time) bool { return !due.IsZero() && !due.After(time.Now()) }
	if over(l.stallDue()) {
		l.stalled()
	}
	if over(l.idleDue()) {
		l.manager.stats.Idled.Add(1)
		l.conv.end(cmp.Or(l.conv.outdated(), "idle"))
	}
	if over(l.queue.parkDue()) {
		l.queue.tryAgain()
	}
}
