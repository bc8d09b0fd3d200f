package lanes

import (
	"math"
	"time"

	"bareclaw/core"
)

// wornPart is the part of a turn's budget spent by a session before the lane replaces the
// session. The agent counts from the start of the process, which reduces the budget of later
// turns.
const wornPart = 1.0 / 10

// newsGrace is how long the agent may take to begin reporting ended background tasks: the
// first output needs an API call.
const newsGrace = 30 * time.Second

// addCost returns the cost since the last result: the growth of the session's running total
// in USD.
//
// A resumed process continues from the total saved by the predecessor. A killed predecessor
// saved no total or an older total; then the first result's own cost is right, unless the
// result is already recorded. A result also visible to an earlier gateway does not show
// whether later results are recorded, because records are not written in order. After the
// first result, a total lower than before is ignored: with some errors the agent reports 0.
// addCost sets r.TotalCost to the corrected total.
func (l *lane) addCost(r *core.Result) float64 {
	cost := r.TotalCost - l.cost
	switch {
	case !l.counted && r.Cost > 0 && cost < 0 && l.lastSeq <= l.info.Said:
		cost, r.TotalCost = r.Cost, l.cost
	case !l.counted && r.Cost > 0 && cost != 0:
		cost = max(cost, r.Cost)
		l.cost, l.launched, l.counted = r.TotalCost, min(l.launched, r.TotalCost-cost), true
	case cost > 0:
		l.cost, l.counted = r.TotalCost, true
	default:
		cost, r.TotalCost = 0, l.cost
	}
	return cost
}

// paidAtMost is how many recorded background results a lane loads to recognize replayed
// results: the host keeps all events from the oldest event with an effect not durable yet.
const paidAtMost = 256

// setCountedResults remembers the recorded, and already counted, background results.
func (l *lane) setCountedResults(bs []core.Background) {
	l.countedResults = map[string]struct{}{}
	for i := range bs {
		l.countedResults[bs[i].ID] = struct{}{}
	}
}

// countLaunched begins counting for a new process of a session with the given total in the
// ledger. The lane's own total takes precedence, because the ledger may not have been able
// to write the latest total.
func (l *lane) countLaunched(session string, total float64) {
	if session == l.costOf {
		total = l.cost
	}
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = total, total, false, false
}

// countAttached continues the count of an earlier gateway. The total at the start of the
// process is unknown, so countAttached assumes all cost belongs to the process.
func (l *lane) countAttached(session string, total float64) {
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = total, math.Inf(-1), false, false
}

// countCleared restarts the count in the same process, as the agent does for a new
// conversation.
func (l *lane) countCleared(session string) {
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = 0, 0, true, false
}

// turnBudgetSpent reports whether to replace the session between turns, because the agent's
// process has used up the budget of a turn, or at least wornPart of the budget. Background
// tasks, and the report after the last task has ended, keep a process with some budget left.
func (l *lane) turnBudgetSpent() bool {
	limit := l.manager.o.TurnBudget
	if limit <= 0 || l.session == nil {
		return false
	}
	telling := l.ownTurn || time.Now().Before(l.newsUntil)
	return l.budgetExhausted || l.tasks == 0 && !telling && l.cost-l.launched >= limit*wornPart
}

// replaceIfBudgetSpent reports whether the session may run another turn. Otherwise
// replaceIfBudgetSpent ends the session, and waiting messages run in a resuming session.
func (l *lane) replaceIfBudgetSpent() bool {
	if !l.turnBudgetSpent() {
		return true
	}
	l.endIdle("the budget of a turn is begun")
	return false
}
