package lanes

import "time"

// A watch is a lane's one timer for what falls due when nothing happens: a stuck
// turn, an idle session, the end of a pause.
type timer struct {
	timer *time.Timer
	set   time.Time // when it goes off; zero while it is not set
}

// look sets the watch to the earliest moment at which something falls due. It is
// not moved to a later one, but looks again when it has gone off: so a turn that
// takes its usual way costs no timer.
func (l *lane) setTimer() {
	due := earliest(l.stallDue(), l.idleDue(), l.parkDue())
	if due.IsZero() || !l.timer.set.IsZero() && !due.Before(l.timer.set) {
		return
	}
	l.timer.set = due
	if l.timer.timer == nil {
		l.timer.timer = time.AfterFunc(time.Until(due), func() { l.post(l.onTimer) })
		return
	}
	l.timer.timer.Reset(time.Until(due))
}

// fallsDue does what is due by now. What the agent has said and nobody has taken up yet
// comes first: it may have been said in time, when this process stood still.
func (l *lane) onTimer() {
	l.timer.set = time.Time{}
	if len(l.events) > 0 {
		return // and looks again after that
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

// heardNow notes a sign of life of the agent, or that it was given something to do.
func (l *lane) touch() { l.lastHeard, l.stallReported = time.Now(), false }

// earliest returns the first of the moments that are not zero.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}
