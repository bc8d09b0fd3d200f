package lanes

import (
	"sync"
	"time"

	"bareclaw/core"
)

// nextDay returns the start of the next calendar day. A day may be 23 or 25 hours long, and
// may begin at another hour than midnight.
func nextDay(t time.Time) time.Time {
	year, month, day := t.Date()
	next := time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
	for !next.After(t) || core.Day(next) == core.Day(t) { // the time zone has no such midnight, or no such day
		next = next.Add(time.Hour)
	}
	return next
}

// A budget counts the amount spent per day, and holds the daily limit. The cost of a turn is
// only known at the end, so concurrent turns may exceed the limit together.
type budget struct {
	limit float64 // USD per day; 0 means no limit

	mu    sync.Mutex         // guards the field below
	spent map[string]float64 // USD by day: several days, because the clock may be set back
}

// add counts usd for the day of at.
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

// used reports whether the limit forbids new turns on the day of at.
func (b *budget) used(at time.Time) bool {
	return b.limit > 0 && b.on(core.Day(at)) >= b.limit
}
