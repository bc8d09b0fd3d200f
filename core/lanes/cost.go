package lanes

import (
	"context"
	"math"
	"time"

	"bareclaw/core"
)

// wornPart is which part of a turn's budget a session may have spent before it is
// replaced: the agent counts from the start of its process, so that the next turn
// has so much less.
const wornPart = 1.0 / 10

// newsGrace is how long the agent may take to begin with the news of a background
// task: its first word comes from the API.
const newsGrace = 30 * time.Second

// Usage returns what the turns of a channel have cost, and those of this calendar day.
func (m *Manager) Usage(ctx context.Context, key core.ChannelKey) (core.Usage, error) {
	now := m.o.Now()
	year, month, day := now.Date()
	return m.o.Ledger.Usage(ctx, key, time.Date(year, month, day, 0, 0, 0, 0, now.Location()))
}

// spend takes up what a result says of the session's cost, and returns what was
// spent since the last one: by how much the running total has grown.
//
// A resumed process goes on from the total that its predecessor had saved. One that
// was killed had saved none, or an older one; then what the first result says
// itself is right, unless it is one that is on record. One that an earlier gateway
// may have heard too says nothing of those after it, which may be on record although
// it is not: they are not written in order. Later a lower total than
// before says nothing: with some errors the agent gives 0. In the end r has the
// total as it was understood.
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

// paidAtMost is of how many background results it is known that they are on record,
// should the host say them again: it keeps what follows the oldest event whose effect
// is not durable.
const paidAtMost = 256

// notePaid notes background results that are on record, and counted with it.
func (l *lane) setCountedResults(bs []core.Background) {
	l.countedResults = map[string]struct{}{}
	for i := range bs {
		l.countedResults[bs[i].ID] = struct{}{}
	}
}

// countLaunched begins to count what a new process spends, whose session had cost
// that much by the ledger; which may not have been able to write what is known here.
func (l *lane) countLaunched(session string, total float64) {
	if session == l.costOf {
		total = l.cost
	}
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = total, total, false, false
}

// countAttached goes on counting where an earlier gateway was. What the total was
// when the process began is not known: it may all have been spent since.
func (l *lane) countAttached(session string, total float64) {
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = total, math.Inf(-1), false, false
}

// countCleared begins anew in the same process, as the agent does with a new
// conversation.
func (l *lane) countCleared(session string) {
	l.costOf = session
	l.cost, l.launched, l.counted, l.budgetExhausted = 0, 0, true, false
}

// worn reports whether the session is to be replaced between turns, because its
// process has too little left of the budget of a turn, or nothing. Background tasks
// keep a process that has something left, and so does the news of them: the agent
// begins to tell it some time after the last task has ended.
func (l *lane) turnBudgetSpent() bool {
	limit := l.manager.o.TurnBudget
	if limit <= 0 || l.session == nil {
		return false
	}
	telling := l.ownTurn || time.Now().Before(l.newsUntil)
	return l.budgetExhausted || l.tasks == 0 && !telling && l.cost-l.launched >= limit*wornPart
}

// unworn reports whether the session may get another turn. If it may not it is
// ended, and what waits runs in the one that resumes it.
func (l *lane) replaceIfBudgetSpent() bool {
	if !l.turnBudgetSpent() {
		return true
	}
	l.endIdle("the budget of a turn is begun")
	return false
}
