package schedule

import (
	"strings"
	"time"
)

const stampLayout = "2006-01-02 15:04 MST"

// textOf is what the agent gets: the job's text under a line that says that it is no
// person who speaks now, and whether it comes late. A slash command stays alone, since
// the agent only knows one at the very beginning.
func textOf(j *Job, v verdict, now time.Time, zone *time.Location) string {
	if strings.HasPrefix(j.Text, "/") {
		return j.Text
	}
	line := "[schedule: " + j.ID + ", due " + v.due.In(zone).Format(stampLayout)
	if v.late {
		line += ", sent late at " + now.In(zone).Format(stampLayout)
	}
	return line + "]\n" + j.Text
}

// startOfDay is when the calendar day of t began.
func startOfDay(t time.Time) time.Time {
	year, month, d := t.Date()
	start := time.Date(year, month, d, 0, 0, 0, 0, t.Location())
	if start.Day() != d { // there is no such midnight
		start = start.Add(time.Hour)
	}
	return start
}
