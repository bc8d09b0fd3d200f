package lanes

import (
	"math"

	"bareclaw/core"
)

// countedAtMost is how many recorded background results a lane loads to recognize replayed
// results: the host keeps all events from the oldest event with an effect not durable yet.
const countedAtMost = 256

// A costMeter computes the cost of results from the running total of a session, in USD. The
// total goes on in the next process of the same session.
type costMeter struct {
	session   string  // id of the session counted by total
	total     float64 // the session's total at the last result
	launched  float64 // the session's total when the present process began
	confirmed bool    // total is confirmed as a total of the present process
	exhausted bool    // the agent's process has used up the budget of a turn
	counted   map[string]struct{}
}

// launch begins counting for a new process of a session with the given total in the ledger.
// The meter's own total takes precedence, because the ledger may not have been able to write
// the latest total.
func (c *costMeter) launch(session string, total float64) {
	if session == c.session {
		total = c.total
	}
	c.begin(session, total, total, false)
}

// attach continues the count of an earlier gateway. The total at the start of the process is
// unknown, so attach assumes all cost belongs to the process.
func (c *costMeter) attach(session string, total float64) {
	c.begin(session, total, math.Inf(-1), false)
}

// clear restarts the count in the same process, as the agent does for a new conversation.
func (c *costMeter) clear(session string) { c.begin(session, 0, 0, true) }

func (c *costMeter) begin(session string, total, launched float64, confirmed bool) {
	c.session, c.total, c.launched, c.confirmed, c.exhausted = session, total, launched, confirmed, false
}

// add returns the cost since the last result: the growth of the session's running total.
//
// A resumed process continues from the total saved by the predecessor. A killed predecessor
// saved no total or an older total; then the first result's own cost is right, unless the
// result is already recorded. A result also seen by an earlier gateway (replayed) does not
// show whether later results are recorded, because records are not written in order. After
// the first result, a total lower than before is ignored: with some errors the agent reports
// 0. add sets r.TotalCost to the corrected total.
func (c *costMeter) add(r *core.Result, replayed bool) float64 {
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

// note records whether the agent's process has used up the budget of a turn.
func (c *costMeter) note(r *core.Result) { c.exhausted = c.exhausted || r.Code == core.CodeMaxBudget }

// inProcess returns the cost of the present process.
func (c *costMeter) inProcess() float64 { return c.total - c.launched }

// setCounted remembers the background results recorded, and counted, by an earlier gateway.
func (c *costMeter) setCounted(bs []core.Background) {
	c.counted = map[string]struct{}{}
	for i := range bs {
		c.counted[bs[i].ID] = struct{}{}
	}
}

// isCounted reports whether an earlier gateway has counted the background result. The
// meter's total may contain later results, so add must not be called with the result.
func (c *costMeter) isCounted(id string) bool {
	_, ok := c.counted[id]
	return ok
}
