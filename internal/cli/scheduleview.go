package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

type (
	scheduleView   api.Schedule
	occurrenceView api.Occurrence
	schedulesView  api.Schedules
	removedView    api.Removed
)

func (r *removedView) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "Removed schedule %s.\n", term.SafeLine(r.ID))
	return err
}

// printAdded prints the new schedule and its next time.
func (v *scheduleView) printAdded(out io.Writer) error {
	now := time.Now()
	_, err := fmt.Fprintf(out, "Schedule %s on %s: %s\n", term.SafeLine(v.ID), term.SafeLine(v.Channel), v.due())
	for i, t := range v.Next {
		if err == nil {
			_, err = fmt.Fprintf(out, "%s%s\n", []string{"  next ", "  then "}[min(i, 1)], moment(t, now, v.zone()))
		}
	}
	return err
}

// due returns the next time, with the zone if it differs from the machine's.
func (v *scheduleView) due() string {
	if v.TZ == "" {
		return term.SafeLine(v.When)
	}
	return term.SafeLine(v.When + " (" + v.TZ + ")")
}

func (v *scheduleView) print(out io.Writer) error {
	now := time.Now()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	field := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, value) // Flush has the error
		}
	}
	field("schedule", term.SafeLine(v.ID)+" ("+term.SafeLine(v.State)+")")
	field("channel", term.SafeLine(v.Channel))
	field("when", v.due())
	for i, t := range v.Next {
		field([]string{"next", "then"}[min(i, 1)], moment(t, now, v.zone()))
	}
	field("missed", term.SafeLine(v.Missed))
	field("precheck", term.SafeLine(v.Precheck))
	if v.BudgetUSD > 0 {
		field("budget", humanize.USD(v.BudgetUSD)+" a day")
	}
	field("text", term.SafeLine(v.Text))
	for i := range v.Occurrences {
		o := (*occurrenceView)(&v.Occurrences[i])
		field([]string{"last due", ""}[min(i, 1)]+" ", moment(o.Due, now, v.zone())+"  "+o.what(now, v.zone()))
	}
	return w.Flush()
}

// what describes the outcome of a due time.
func (o *occurrenceView) what(now time.Time, zone *time.Location) string {
	said := o.Outcome
	if o.Late {
		said += " late, " + moment(o.DecidedAt, now, zone)
	}
	if o.MessageID != "" {
		said += ", message " + o.MessageID
	}
	if o.Why != "" {
		said += ": " + o.Why
	}
	return term.SafeLine(said)
}

func (v *schedulesView) print(out io.Writer) error {
	if len(v.Schedules) == 0 {
		_, err := fmt.Fprintln(out, "There are no schedules. Make one with `bareclaw schedule add`.")
		return err
	}
	now := time.Now()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tCHANNEL\tWHEN\tNEXT\tTEXT") // Flush has the error
	for i := range v.Schedules {
		s := (*scheduleView)(&v.Schedules[i])
		next := cmp.Or(term.SafeLine(s.State), "-")
		if len(s.Next) > 0 {
			next = moment(s.Next[0], now, s.zone())
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", term.SafeLine(s.ID), term.SafeLine(s.Channel), s.due(), next, start(term.SafeLine(s.Text), 40))
	}
	return w.Flush()
}

// start is the beginning of a text, of at most limit characters.
func start(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}

// zone returns the zone of a schedule: the machine's without a zone of its own, or for an
// unknown zone.
func (v *scheduleView) zone() *time.Location {
	if v.TZ == "" {
		return time.Local
	}
	if zone, err := time.LoadLocation(v.TZ); err == nil {
		return zone
	}
	return time.Local
}

// moment shows a time in a zone, and its distance from now.
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

// roughly is a duration in a suitable unit.
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
