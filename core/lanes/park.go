package lanes

import (
	"cmp"
	"slices"
	"time"

	"bareclaw/core"
)

const (
	// loginPause is how long a channel waits before the lane retries with an agent that is
	// not logged in.
	loginPause = 5 * time.Minute
	// limitPause is the pause after a usage limit without a known end.
	limitPause = 15 * time.Minute
	// shortestPark bounds the retry rate for a limit over by the clock, but not for the API.
	// longestPark is longer than any usage limit.
	shortestPark = time.Minute
	longestPark  = 8 * 24 * time.Hour
	// parkLook is how often the lane compares a park's end with the wall clock, because
	// timers stop while the machine sleeps.
	parkLook = time.Minute
)

// statusUnauthorized is the HTTP status of the API refusing the login.
const statusUnauthorized = 401

// parkStamp is the time layout of a park's end in messages.
const parkStamp = "2006-01-02 15:04 MST"

// loginAgain is the advice after a refused login.
const loginAgain = "log in again on the gateway's machine, with `claude` or `claude setup-token`"

const loginText = "Claude is not logged in any more (the API answered 401): " + loginAgain + "."

// A park is the reason for a channel to begin no turn although messages wait: each turn
// would fail for a cause outside the messages.
type park struct {
	code  string
	why   string
	since time.Time
	until time.Time // next automatic retry, by the wall clock only
	due   time.Time // until on the monotonic clock; reaching either is enough
	firm  bool      // the end is known, so a new message causes no earlier retry
}

// parks reports whether an outcome predicts failure of the next messages too.
func parks(code string) bool { return code == core.CodeNotLoggedIn || code == core.CodeUsageLimit }

// newPark returns a park with the pause for the code; end is the limit's end, or zero if
// unknown.
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

// park stops the lane from beginning turns for a while. Messages waiting now return to the
// queue, instead of failing, if the next attempt fails for the same cause.
func (l *lane) park(p *park) {
	if l.retriedPark == nil || l.retriedPark.code != p.code { // else already counted and logged
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
	if len(waiting) > 0 || len(l.pending) == 0 { // else announceAccepted publishes the park for each message
		l.publish(core.Update{Kind: core.UpdateParked, Messages: waiting, Detail: p.why})
	}
}

// tellParked reports the park to callers waiting for the message's outcome.
func (l *lane) tellParked(it *queued) {
	if t, ok := l.manager.tickets.find(it.msg.ID); ok {
		t.Park(l.placeOf(it.msg.ID))
	}
}

// parkAfter parks the lane if p is not nil. Any other outcome shows the end of the earlier
// cause.
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

// parkDue returns when to retry the channel, or when to compare the clocks again.
func (l *lane) parkDue() time.Time {
	switch {
	case l.parked == nil || l.busy != "":
		return time.Time{}
	case !l.now().Before(l.parked.until):
		return time.Now()
	}
	return earliest(l.parked.due, time.Now().Add(parkLook))
}

// tryAgain dispatches the waiting messages. After the same failure the channel parks again.
func (l *lane) tryAgain() {
	l.log.Info("parked channel is tried again", "code", l.parked.code, "waiting", len(l.pending))
	l.unpark()
	l.dispatch()
}

// unpark allows the lane to begin turns again.
func (l *lane) unpark() {
	l.parked, l.retriedPark = nil, l.parked
	for _, it := range l.pending {
		if t, ok := l.manager.tickets.find(it.msg.ID); ok {
			t.Unpark()
		}
	}
}

// onArrivalWhileParked either unparks the lane for a new message, or marks the message to
// wait for the park's known end.
func (l *lane) onArrivalWhileParked(it *queued) {
	switch {
	case l.parked == nil:
	case l.parked.firm && l.now().Before(l.parked.until): // the park's timer stops while the machine sleeps
		it.requeueWhenParked = true
	default:
		l.unpark()
	}
}

// stopUnauthorized ends the running turn when the API refuses the login, because the agent's
// retries cannot succeed.
func (l *lane) stopUnauthorized() {
	f := l.currentTurn()
	if f == nil || f.stop != nil {
		return
	}
	l.interrupt(f, &stop{code: core.CodeNotLoggedIn, failed: true, text: loginText, grace: patientGrace})
}

// limitEnd returns the end of the usage limit met by a turn, or zero if unknown.
func (l *lane) limitEnd(r *core.Result) time.Time {
	switch {
	case l.limit.After(l.now()): // reported by the API; the result only has a text
		return l.limit
	case r != nil:
		return r.Until
	}
	return time.Time{}
}

// isRequeued reports whether a message of turns failed by the parking cause returns to the
// queue: the message already waited for the end of the cause, or through a restart, and no
// turn is known or suspected to have begun a tool. The first message to meet the cause
// fails, because a person may be waiting for the answer.
func isRequeued(fs []*inflight, it *queued, code string) bool {
	begun := func(f *inflight) bool { return f.toolBegun || f.fateUnknown }
	return parks(code) && it.requeueWhenParked && !slices.ContainsFunc(fs, begun)
}

// requeue puts messages of ended turns back at the front of the queue.
func (l *lane) requeue(items []*queued) {
	for _, it := range items {
		it.msg.State, it.msg.Turn, it.msg.DispatchedAt = core.Waiting, "", time.Time{}
		it.moving = true
	}
	l.pending = append(items, l.pending...)
	l.sortPending()
}

// requeued allows changes to the messages again once the ledger has recorded the return.
func (l *lane) requeued(items []*queued) {
	for _, it := range items {
		it.moving = false
	}
	if len(items) > 0 {
		l.dispatch()
	}
}

// why returns what delays waiting messages besides earlier messages; empty if nothing does.
func (l *lane) why() string {
	parked := ""
	if l.parked != nil {
		parked = l.parked.why
	}
	return cmp.Or(parked, l.session.blocked(), l.slotWait())
}
