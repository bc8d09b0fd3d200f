// Package spending counts what agents cost, per day and per session.
package spending

import (
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
