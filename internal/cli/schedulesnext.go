package cli

import (
	"slices"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// nextShown is how many schedules the status shows.
const nextShown = 3

// nextSchedules describes the next due schedules, one on each line.
func nextSchedules(all []api.Schedule, now time.Time) []string {
	due := slices.DeleteFunc(slices.Clone(all), func(v api.Schedule) bool { return len(v.Next) == 0 })
	slices.SortStableFunc(due, func(a, b api.Schedule) int { return a.Next[0].Compare(b.Next[0]) })
	var lines []string
	for i := range due[:min(len(due), nextShown)] {
		lines = append(lines, humanize.Clock(due[i].Next[0], now)+" on "+command.Fit(term.SafeLine(due[i].Channel), channelWidth)+": "+due[i].Text)
	}
	return lines
}
