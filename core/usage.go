package core

import "time"

// Spending is what turns and background results of all channels have cost on one day.
type Spending struct {
	Day   string  // as Day names it
	Spent float64 // USD
	Limit float64 // USD; 0 means that there is none
}

// Day names the calendar day of a moment, in the moment's own time zone.
func Day(t time.Time) string { return t.Format(time.DateOnly) }

// Usage is what the turns of one channel have cost, as far as the agent has said.
// Background results are not in it.
type Usage struct {
	Turns, TurnsToday int
	Spent, SpentToday float64 // USD
}
