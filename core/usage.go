package core

import "time"

// Spending is the cost of all channels' turns and background results on a day.
type Spending struct {
	Day   string  // in the format of Day
	Spent float64 // USD
	Limit float64 // USD; 0: unlimited
}

// Day names the calendar day of a moment, in the moment's own time zone.
func Day(t time.Time) string { return t.Format(time.DateOnly) }

// Usage is the cost of a channel's turns, as reported by the agent. Background results are
// not included.
type Usage struct {
	Turns, TurnsToday int
	Spent, SpentToday float64 // USD
}
