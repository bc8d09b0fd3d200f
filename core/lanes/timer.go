package lanes

import "time"

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
	due := earliest(l.stallDue(), l.idleDue(), l.parkDue())
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
	if len(l.events()) > 0 {
		return // the step after the events sets the timer again
	}
	over := func(due time.Time) bool { return !due.IsZero() && !due.After(time.Now()) }
	if over(l.stallDue()) {
		l.stalled()
	}
	if over(l.idleDue()) {
		l.endUnused()
	}
	if over(l.parkDue()) {
		l.tryAgain()
	}
}

// earliest returns the first of the non-zero moments, or zero.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}
