package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

func addedLines(s *api.Schedule, now time.Time) []string {
	lines := []string{term.SafeLine(fmt.Sprintf("Schedule %s on %s: %s", s.ID, s.Channel, whenDue(s)))}
	for i, t := range s.Next {
		lines = append(lines, []string{"  next ", "  then "}[min(i, 1)]+moment(t, now, zone(s)))
	}
	return lines
}

// whenDue returns the times of a schedule, with the zone unless the zone is the machine's.
func whenDue(s *api.Schedule) string {
	if s.TZ == "" {
		return s.When
	}
	return s.When + " (" + s.TZ + ")"
}

func scheduleLines(s *api.Schedule, now time.Time) []string {
	facts := command.Facts{}
	facts.Add("schedule", s.ID+" ("+s.State+")")
	facts.Add("channel", s.Channel)
	facts.Add("when", whenDue(s))
	for i, t := range s.Next {
		facts.Add([]string{"next", "then"}[min(i, 1)], moment(t, now, zone(s)))
	}
	facts.Add("missed", s.Missed)
	facts.Add("precheck", s.Precheck)
	if s.BudgetUSD > 0 {
		facts.Add("budget", humanize.USD(s.BudgetUSD)+" a day")
	}
	facts.Add("text", s.Text)
	for i, o := range s.Occurrences {
		facts.Add([]string{"last due", ""}[min(i, 1)], moment(o.Due, now, zone(s))+": "+became(&o, now, zone(s)))
	}
	return facts.Lines(command.Unlimited)
}

func became(o *api.Occurrence, now time.Time, zone *time.Location) string {
	text := o.Outcome
	if o.Late {
		text += " late, " + moment(o.DecidedAt, now, zone)
	}
	if o.MessageID != "" {
		text += ", message " + o.MessageID
	}
	if o.Why != "" {
		text += ": " + o.Why
	}
	return text
}

// listLines shows each schedule on a line.
func listLines(all []api.Schedule, now time.Time) []string {
	const textCells = 40
	var t command.Table
	t.Add(command.Text("ID"), command.Text("CHANNEL"), command.Text("WHEN"), command.Text("NEXT"), command.Text("TEXT"))
	for i := range all {
		s := &all[i]
		next := cmp.Or(s.State, "-")
		if len(s.Next) > 0 {
			next = moment(s.Next[0], now, zone(s))
		}
		t.Add(command.Text(s.ID), command.Text(s.Channel), command.Text(whenDue(s)), command.Text(next), command.Text(command.Fit(term.SafeLine(s.Text), textCells)))
	}
	return t.Lines(command.Unlimited)
}

// nextSchedules describes the schedules that the status shows, those due next, each on a
// line.
func nextSchedules(all []api.Schedule, now time.Time) []string {
	const shown = 3
	due := slices.DeleteFunc(slices.Clone(all), func(v api.Schedule) bool { return len(v.Next) == 0 })
	slices.SortStableFunc(due, func(a, b api.Schedule) int { return a.Next[0].Compare(b.Next[0]) })
	var lines []string
	for _, s := range due[:min(len(due), shown)] {
		lines = append(lines, humanize.Clock(s.Next[0], now)+" on "+command.Fit(term.SafeLine(s.Channel), channelWidth)+": "+s.Text)
	}
	return lines
}

// zone returns the zone of a schedule: the machine's without a zone of its own, or for an
// unknown zone.
func zone(s *api.Schedule) *time.Location {
	if zone, err := time.LoadLocation(s.TZ); err == nil && s.TZ != "" {
		return zone
	}
	return time.Local
}

// moment shows a time in a zone, and the distance from now.
func moment(t, now time.Time, zone *time.Location) string {
	t, now = t.In(zone), now.In(zone)
	layout := "Mon 2 Jan 15:04"
	if t.Year() != now.Year() {
		layout = "Mon 2 Jan 2006 15:04"
	}
	away := t.Sub(now)
	if away < 0 {
		return t.Format(layout) + " (" + roughly(-away) + " ago)"
	}
	return t.Format(layout) + " (in " + roughly(away) + ")"
}

// roughly writes a duration in a single unit.
func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	case d < 36*time.Hour:
		return fmt.Sprintf("%d h", d.Round(time.Hour)/time.Hour)
	}
	return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
}
