package lanes

import (
	"fmt"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// Spending returns what was spent today, as far as the agents have said.
func (m *Manager) Spending() core.Spending {
	now := m.o.Now()
	return core.Spending{Day: core.Day(now), Spent: m.budget.on(core.Day(now)), Limit: m.budget.limit}
}

// nextDay is when the next calendar day begins. A day may be 23 or 25 hours long,
// and need not begin at midnight.
func nextDay(t time.Time) time.Time {
	year, month, day := t.Date()
	next := time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
	for !next.After(t) || core.Day(next) == core.Day(t) { // there is no such midnight, or no such day
		next = next.Add(time.Hour)
	}
	return next
}

// A budget is the one owner of what was spent on which day, and of how much that
// may be. What is spent is not known before a turn has ended, so turns that run at
// the same time may exceed it together.
type budget struct {
	limit float64 // USD a day; 0 means none

	mu    sync.Mutex         // guards the field below
	spent map[string]float64 // USD by day: the clock may also be set back
}

// add counts what was spent at a moment.
func (b *budget) add(at time.Time, usd float64) {
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

func (b *budget) on(day string) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent[day]
}

// used reports whether nothing more may be begun on the day of that moment.
func (b *budget) used(at time.Time) bool {
	return b.limit > 0 && b.on(core.Day(at)) >= b.limit
}

// affordable reports whether what waits may be begun for all that was spent
// today. If it may not, the lane is parked until tomorrow.
func (l *lane) withinDailyBudget() bool {
	now := l.now()
	if !l.manager.budget.used(now) {
		return true
	}
	l.park(l.budgetPark(now))
	return false
}

func (l *lane) budgetPark(now time.Time) *park {
	b := &l.manager.budget
	until := nextDay(now)
	spent, limit := humanize.USDOfLimit(b.on(core.Day(now)), b.limit)
	return &park{
		code: core.ParkedForBudget, firm: true, since: now, until: until, due: time.Now().Add(until.Sub(now)),
		why: fmt.Sprintf("The daily budget of %s (BARECLAW_DAILY_BUDGET_USD) is used up (%s spent today). What waits runs at %s.",
			limit, spent, until.Format(parkStamp)),
	}
}
