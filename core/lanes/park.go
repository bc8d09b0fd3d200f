package lanes

import (
	"fmt"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/spending"
	"bareclaw/internal/humanize"
	"bareclaw/internal/wait"
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

// loginText are the words about a login that the API refuses while the agent still tries.
const loginText = "the API answered 401"

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

// newPark returns a park with the pause for the code. r is the result with the code, or nil.
func (q *queue) newPark(code string, r *core.Result) *park {
	now := q.now()
	p := &park{code: code, since: now}
	pause := loginPause
	if code == core.CodeUsageLimit {
		pause = limitPause
		end := q.limit // reported by the API; a result may only have a text
		if !end.After(now) {
			end = time.Time{}
			if r != nil {
				end = r.Until
			}
		}
		if !end.IsZero() {
			pause, p.firm = min(max(end.Sub(now), shortestPark), longestPark), true
		}
	}
	p.until, p.due = now.Round(0).Add(pause), time.Now().Add(pause)
	at := humanize.Clock(p.until, now)
	switch {
	case code == core.CodeNotLoggedIn:
		p.why = "Claude is not logged in." + sentence("On the gateway's machine, ", q.manager.o.Advice.Login) + " What waits is tried again with the next message, or at " + at + "."
	case p.firm:
		p.why = "The usage limit is reached. What waits is tried again at " + at + "."
	default:
		p.why = "The usage limit is reached. What waits is tried again with the next message, or at " + at + "."
	}
	return p
}

// park stops the lane from beginning turns for a while. Messages waiting now return to the
// queue, instead of failing, if the next attempt fails for the same cause.
func (q *queue) park(p *park) {
	if q.retried == nil || q.retried.code != p.code { // else already counted and logged
		q.manager.stats.Parked.Add(1)
		q.log.Warn("channel parked", "code", p.code, "until", p.until, "waiting", len(q.items))
	}
	q.parked = p
	var waiting []core.MessageID
	for _, it := range q.items {
		it.requeueWhenParked = true
		if it.durable {
			waiting = append(waiting, it.msg.ID)
			q.tellParked(it)
		}
	}
	if len(waiting) > 0 || len(q.items) == 0 { // else announceAccepted publishes the park for each message
		q.publish(core.Update{Kind: core.UpdateParked, Messages: waiting, Detail: p.why})
	}
}

func (q *queue) tellParked(it *queued) {
	if t, ok := q.manager.tickets.find(it.msg.ID); ok {
		t.Park(q.placeOf(it.msg.ID))
	}
}

// parkAfter parks the lane if p is not nil. Any other outcome shows the end of the earlier
// cause.
func (q *queue) parkAfter(p *park, reply core.Reply) {
	if p != nil {
		q.park(p)
	}
	q.retried = nil
	if reply.State == core.Answered {
		q.limit = time.Time{}
		now := q.now()
		q.manager.stats.answeredAt.Store(&now)
	}
}

// parkDue returns when to retry the channel, or when to compare the clocks again.
func (q *queue) parkDue() time.Time {
	switch {
	case q.parked == nil || q.isBusy():
		return time.Time{}
	case !q.now().Before(q.parked.until):
		return time.Now()
	}
	return wait.Earliest(q.parked.due, time.Now().Add(parkLook))
}

// tryAgain lets the waiting messages run. After the same failure the channel parks again.
func (q *queue) tryAgain() {
	q.log.Info("parked channel is tried again", "code", q.parked.code, "waiting", len(q.items))
	q.unpark()
}

func (q *queue) unpark() {
	q.parked, q.retried = nil, q.parked
	for _, it := range q.items {
		if t, ok := q.manager.tickets.find(it.msg.ID); ok {
			t.Unpark()
		}
	}
}

// onArrival either unparks the lane for a new message, or marks the message to
// wait for the park's known end.
func (q *queue) onArrival(it *queued) {
	switch {
	case q.parked == nil:
	case q.parked.firm && q.now().Before(q.parked.until): // the park's timer stops while the machine sleeps
		it.requeueWhenParked = true
	default:
		q.unpark()
	}
}

// isRequeued reports whether a message of turns failed by the parking cause returns to the
// queue: the message already waited for the end of the cause, or through a restart, and no
// turn is known or suspected to have begun a tool. The first message to meet the cause
// fails, because a person may be waiting for the answer. The messages of a turn that begins again
// return too.
func isRequeued(fs []*inflight, it *queued, code string) bool {
	if slices.ContainsFunc(fs, func(f *inflight) bool { return f.beginsAgain(code) }) {
		return true
	}
	begun := func(f *inflight) bool { return f.toolBegun || f.fateUnknown }
	return parks(code) && it.requeueWhenParked && !slices.ContainsFunc(fs, begun)
}

func (q *queue) requeue(items []*queued) {
	for _, it := range items {
		it.msg.State, it.msg.Turn, it.msg.DispatchedAt = core.Waiting, "", time.Time{}
		it.moving = true
	}
	q.putBack(items)
}

// withinDailyBudget reports whether the daily budget allows a turn. Otherwise
// withinDailyBudget parks the lane until tomorrow.
func (q *queue) withinDailyBudget() bool {
	now := q.now()
	if !q.manager.budget.Used(now) {
		return true
	}
	q.park(q.budgetPark(now))
	return false
}

func (q *queue) budgetPark(now time.Time) *park {
	until := spending.NextDay(now)
	return &park{
		code:  core.ParkedForBudget,
		firm:  true,
		since: now,
		until: until,
		due:   time.Now().Add(until.Sub(now)),
		why:   q.budgetUsed(now) + " What waits runs at " + humanize.Clock(until, now) + ".",
	}
}

// budgetUsed says that the daily budget is used up.
func (q *queue) budgetUsed(now time.Time) string {
	b := q.manager.budget
	spent, limit := humanize.USDOfLimit(b.On(core.Day(now)), b.Limit)
	return fmt.Sprintf("The daily budget of %s%s is used up (%s spent today).", limit, parenthesized(q.manager.o.Advice.DailyBudget), spent)
}

// sentence returns a sentence of advice after a space; empty for empty advice.
func sentence(begin, advice string) string {
	if advice == "" {
		return ""
	}
	return " " + begin + advice + "."
}
