package lanes

import (
	"cmp"
	"slices"
	"time"

	"bareclaw/core"
)

const (
	// loginPause is how long a channel whose agent is not logged in waits before
	// it is tried again by itself.
	loginPause = 5 * time.Minute
	// limitPause is the same for a usage limit that does not say when it ends.
	limitPause = 15 * time.Minute
	// shortestPark keeps a limit that is over by the clock, but not for the API,
	// from being tried again and again; longestPark is more than any limit lasts.
	shortestPark = time.Minute
	longestPark  = 8 * 24 * time.Hour
	// parkLook is how often it is looked whether a park is over by the clock on the wall:
	// timers stand still while the machine sleeps.
	parkLook = time.Minute
)

// statusUnauthorized is HTTP's: the API does not accept the login.
const statusUnauthorized = 401

// parkStamp is how a park says when it ends.
const parkStamp = "2006-01-02 15:04 MST"

// loginAgain says what to do about a login that is refused.
const loginAgain = "log in again on the gateway's machine, with `claude` or `claude setup-token`"

const loginText = "Claude is not logged in any more (the API answered 401): " + loginAgain + "."

// A park is why a channel begins nothing although messages wait: each would fail
// for the same reason, which is not theirs.
type park struct {
	code  string
	why   string
	since time.Time
	until time.Time // of the next try by itself; by the clock on the wall alone
	due   time.Time // the same on the monotonic clock: one of the two is enough
	firm  bool      // it is known when it ends: a new message is no reason to try before
}

// parks reports whether an outcome means that the next messages would fail too.
func parks(code string) bool { return code == core.CodeNotLoggedIn || code == core.CodeUsageLimit }

// newPark decides how long to wait; end is when the limit ends, zero if that is
// not known.
func (l *lane) newPark(code string, end time.Time) *park {
	now := l.now()
	p := &park{code: code, since: now}
	pause := loginPause
	if code == core.CodeUsageLimit {
		pause = limitPause
		if !end.IsZero() {
			pause, p.firm = min(max(end.Sub(now), shortestPark), longestPark), true
		}
	}
	p.until, p.due = now.Round(0).Add(pause), time.Now().Add(pause)
	at := p.until.Format(parkStamp)
	switch {
	case code == core.CodeNotLoggedIn:
		p.why = "Claude is not logged in: " + loginAgain + ". What waits is tried again with the next message, or at " + at + "."
	case p.firm:
		p.why = "The usage limit is reached. What waits is tried again at " + at + "."
	default:
		p.why = "The usage limit is reached. What waits is tried again with the next message, or at " + at + "."
	}
	return p
}

// park stops the lane from beginning turns for a while. What waits now has
// patience: it is not to fail should the next try meet the same trouble.
func (l *lane) park(p *park) {
	if l.retriedPark == nil || l.retriedPark.code != p.code { // else it is known
		l.manager.stats.parked.Add(1)
		l.log.Warn("channel parked", "code", p.code, "until", p.until, "waiting", len(l.pending))
	}
	l.parked = p
	var waiting []core.MessageID
	for _, it := range l.pending {
		it.requeueWhenParked = true
		if it.durable {
			waiting = append(waiting, it.msg.ID)
			l.tellParked(it)
		}
	}
	if len(waiting) > 0 || len(l.pending) == 0 { // else all are told when they are accepted
		l.publish(core.Update{Kind: core.UpdateParked, Messages: waiting, Detail: p.why})
	}
}

// tellParked tells who waits for the message's outcome that this will take its time.
func (l *lane) tellParked(it *queued) {
	if t, ok := l.manager.tickets.find(it.msg.ID); ok {
		t.Park(l.placeOf(it.msg.ID))
	}
}

// parkAfter parks the lane after an outcome that asks for it; any other shows that
// the last trouble is over.
func (l *lane) parkAfter(p *park, reply core.Reply) {
	if p != nil {
		l.park(p)
	}
	l.retriedPark = nil
	if reply.State == core.Answered {
		l.limit = time.Time{}
		now := l.now()
		l.manager.stats.answeredAt.Store(&now)
	}
}

// parkDue is when the channel is tried again, or when that is looked at again.
func (l *lane) parkDue() time.Time {
	switch {
	case l.parked == nil || l.busy != "":
		return time.Time{}
	case !l.now().Before(l.parked.until):
		return time.Now()
	}
	return earliest(l.parked.due, time.Now().Add(parkLook))
}

// tryAgain lets what waits become the next turn. If that meets the same trouble
// the channel is parked again.
func (l *lane) tryAgain() {
	l.log.Info("parked channel is tried again", "code", l.parked.code, "waiting", len(l.pending))
	l.unpark()
	l.dispatch()
}

// unpark lets the lane begin turns again.
func (l *lane) unpark() {
	l.parked, l.retriedPark = nil, l.parked
	for _, it := range l.pending {
		if t, ok := l.manager.tickets.find(it.msg.ID); ok {
			t.Unpark()
		}
	}
}

// arrives says what a new message means to a parked channel: a try, or that it
// waits with the others.
func (l *lane) onArrivalWhileParked(it *queued) {
	switch {
	case l.parked == nil:
	case l.parked.firm && l.now().Before(l.parked.until): // its timer stands still while the machine sleeps
		it.requeueWhenParked = true
	default:
		l.unpark()
	}
}

// unauthorised ends the running turn when the API refuses the login, rather than
// let the agent repeat what no repetition cures.
func (l *lane) stopUnauthorized() {
	f := l.currentTurn()
	if f == nil || f.stop != nil {
		return
	}
	l.interrupt(f, &stop{code: core.CodeNotLoggedIn, failed: true, text: loginText, grace: patientGrace})
}

// limitEnd is when the limit that a turn met ends, as far as is known.
func (l *lane) limitEnd(r *core.Result) time.Time {
	switch {
	case l.limit.After(l.now()): // the agent has it from the API; the result has it in words
		return l.limit
	case r != nil:
		return r.Until
	}
	return time.Time{}
}

// goesBack reports whether a message of turns that met the trouble together waits
// on instead of failing: it had waited for the end of that trouble, or through a
// restart, and the turns are known to have begun no tool. A message that met it
// first fails, since somebody may stand there and wait to be told.
func isRequeued(fs []*inflight, it *queued, code string) bool {
	begun := func(f *inflight) bool { return f.toolBegun || f.fateUnknown }
	return parks(code) && it.requeueWhenParked && !slices.ContainsFunc(fs, begun)
}

// requeue puts messages of ended turns back to the front of the queue.
func (l *lane) requeue(items []*queued) {
	for _, it := range items {
		it.msg.State, it.msg.Turn, it.msg.DispatchedAt = core.Waiting, "", time.Time{}
		it.moving = true
	}
	l.pending = append(items, l.pending...)
	l.sortPending()
}

// requeued lets the messages be used again once the ledger knows that they wait.
func (l *lane) requeued(items []*queued) {
	for _, it := range items {
		it.moving = false
	}
	if len(items) > 0 {
		l.dispatch()
	}
}

// why says what keeps messages waiting besides those before them.
func (l *lane) why() string {
	parked := ""
	if l.parked != nil {
		parked = l.parked.why
	}
	moving := ""
	if l.pauses > 0 {
		moving = "The conversation is going on under another key soon."
	}
	return cmp.Or(parked, moving, l.hostBlocked, l.slotWait())
}
