// Package spending counts what agents cost, per day and per session.
package spending

import (
	"math"
	"sync"
	"time"

	"bareclaw/core"
)

// NextDay returns the start of the next calendar day. A day may be 23 or 25 hours long, and
// may begin at another hour than midnight.
func NextDay(t time.Time) time.Time {
	year, month, day := t.Date()
	next := time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
	for !next.After(t) || core.Day(next) == core.Day(t) { // the time zone has no such midnight, or no such day
		next = next.Add(time.Hour)
	}
	return next
}

// A Budget counts the amount spent per day, and holds the daily limit. The cost of a turn is
// only known at the end, so concurrent turns may exceed the
// limit together. All methods are safe for concurrent use.
type Budget struct {
	Limit float64 // USD per day, constant; 0 means no limit

	mu    sync.Mutex         // guards the field below
	spent map[string]float64 // USD by day: several days, because the clock may be set back
}

// Add counts usd for the day of at.
func (b *Budget) Add(at time.Time, usd float64) {
	if usd <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string]float64{}
	}
	b.spent[core.Day(at)] += usd
}

// On returns the USD spent on a day; see core.Day.
func (b *Budget) On(day string) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent[day]
}

// Used reports whether the limit forbids new turns on the day of at.
func (b *Budget) Used(at time.Time) bool {
	return b.Limit > 0 && b.On(core.Day(at)) >= b.Limit
}

// A Meter computes the cost of results from the running total of a session, in USD. The
// total goes on in the next process of the same session. A Meter is not safe for concurrent
// use.
type Meter struct {
	session   string  // id of the session counted by total
	total     float64 // the session's total at the last result
	launched  float64 // the session's total when the present process began
	confirmed bool    // total is confirmed as a total of the present process
	exhausted bool    // the agent's process has used up the budget of a turn
}

// Launch begins counting for a new process of a session with the given total in the ledger.
// The meter's own total takes precedence, because the ledger may not have been able to write
// the latest total.
func (c *Meter) Launch(session string, total float64) {
	if session == c.session {
		total = c.total
	}
	c.begin(session, total, total, false)
}

// Attach continues the count of an earlier gateway. The total at the start of the process is
// unknown, so Attach assumes all cost belongs to the process.
func (c *Meter) Attach(session string, total float64) {
	c.begin(session, total, math.Inf(-1), false)
}

// Clear restarts the count in the same process, as the agent does for a new conversation.
func (c *Meter) Clear(session string) { c.begin(session, 0, 0, true) }

func (c *Meter) begin(session string, total, launched float64, confirmed bool) {
	c.session, c.total, c.launched, c.confirmed, c.exhausted = session, total, launched, confirmed, false
}

// Add returns the cost since the last result: the growth of the session's running total.
//
// A resumed process continues from the total saved by the predecessor. A killed predecessor
// saved no total or an older total; then the first result's own cost is right, unless the
// result is already recorded. A result also seen by an earlier gateway (replayed) does not
// show whether later results are recorded, because records are not written in order. After
// the first result, a total lower than before is ignored: with some errors the agent reports
// 0. Add sets r.TotalCost to the corrected total.
func (c *Meter) Add(r *core.Result, replayed bool) float64 {
	cost := r.TotalCost - c.total
	switch {
	case !c.confirmed && r.Cost > 0 && cost < 0 && replayed:
		cost, r.TotalCost = r.Cost, c.total
	case !c.confirmed && r.Cost > 0 && cost != 0:
		cost = max(cost, r.Cost)
		c.total, c.launched, c.confirmed = r.TotalCost, min(c.launched, r.TotalCost-cost), true
	case cost > 0:
		c.total, c.confirmed = r.TotalCost, true
	default:
		cost, r.TotalCost = 0, c.total
	}
	return cost
}

// Note records whether the agent's process has used up the budget of a turn.
func (c *Meter) Note(r *core.Result) { c.exhausted = c.exhausted || r.Code == core.CodeMaxBudget }

// Exhausted reports whether the agent's process has used up the budget of a turn.
func (c *Meter) Exhausted() bool { return c.exhausted }

// InProcess returns the cost of the present process.
func (c *Meter) InProcess() float64 { return c.total - c.launched }
