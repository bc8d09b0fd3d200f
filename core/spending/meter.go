package spending

import (
	"math"

	"bareclaw/core"
)

// A Meter computes the cost of results from the running total of a session, in USD. The
// total goes on in the next process of the same session. A Meter is not safe for concurrent
// use.
type Meter struct {
	session   string  // id of the session counted by total
	total     float64 // the session's total at the last result
	launched  float64 // the session's total when the present process began
	confirmed bool    // total is confirmed as a total of the present process
	exhausted bool    // the agent's process has used up the budget of a turn
	counted   map[string]struct{}
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

// SetCounted remembers the background results recorded, and counted, by an earlier gateway.
func (c *Meter) SetCounted(bs []core.Background) {
	c.counted = map[string]struct{}{}
	for i := range bs {
		c.counted[bs[i].ID] = struct{}{}
	}
}

// IsCounted reports whether an earlier gateway has counted the background result. The
// meter's total may contain later results, so Add must not be called with the result.
func (c *Meter) IsCounted(id string) bool {
	_, ok := c.counted[id]
	return ok
}
