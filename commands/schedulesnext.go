package commands

import (
	"encoding/json"
	"slices"
	"time"
)

// nextShown is how many schedules the status shows.
const nextShown = 3

// A due is when a schedule comes next.
type due struct {
	Channel string    `json:"channel"`
	Text    string    `json:"text"`
	Next    time.Time `json:"next"`
}

// nextSchedules says what comes next of the schedules, a line each.
func nextSchedules(raw json.RawMessage, now time.Time) []string {
	var all []due
	if json.Unmarshal(raw, &all) != nil { // a gateway without schedules has none to show
		return nil
	}
	all = slices.DeleteFunc(all, func(d due) bool { return d.Next.IsZero() })
	slices.SortStableFunc(all, func(a, b due) int { return a.Next.Compare(b.Next) })
	var lines []string
	for _, d := range all[:min(len(all), nextShown)] {
		lines = append(lines, clock(d.Next, now)+" on "+fit(Line(d.Channel), channelWidth)+": "+d.Text)
	}
	return lines
}
