package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

const cronFields = 5

// searchYears bounds the search for the next time of a cron expression: the next 29th of
// February is eight years away at most.
const searchYears = 12

// A cronRule is a cron expression. The expression matches wall clock times, which the
// library computes as if in UTC; cronRule converts the wall clock times to the zone. The
// library's own zone support runs a job in a doubled hour twice and loses a job at a
// skipped midnight.
//
//   - An expression with hour * follows elapsed time: a job runs in each hour, also in
//     both hours of the same name.
//   - Any other expression names times of day. All times that clocks skip are due once,
//     at the moment of the change; times that clocks show twice are due the first time.
type cronRule struct {
	expression string
	anyHour    bool
	faces      cron.Schedule
}

func newCron(expression string) (cronRule, error) {
	fields := strings.Fields(expression)
	c := cronRule{expression: strings.Join(fields, " ")}
	options := cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom
	switch {
	case len(fields) == 1 && strings.HasPrefix(fields[0], "@") && !strings.HasPrefix(fields[0], "@every"):
		options |= cron.Descriptor
		c.anyHour = strings.EqualFold(fields[0], "@hourly")
	case strings.HasPrefix(expression, "@every"):
		return c, errors.New("for that there is \"every\"")
	case len(fields) != cronFields:
		return c, fmt.Errorf("it has %d fields, not five", len(fields))
	case strings.Contains(fields[0], "="): // the library would take the field for a zone
		return c, errors.New("the zone is a member of its own")
	default:
		c.anyHour = fields[1] == "*"
	}
	var err error
	c.faces, err = cron.MustNewParser(options).WithMaxSearchYears(searchYears).Parse(c.expression)
	return c, err
}

// next returns the first time after t in a zone, the zero time if none follows within
// searchYears.
func (c cronRule) next(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	for limit := t.AddDate(searchYears, 0, 0); t.Before(limit); {
		_, change := t.ZoneBounds()
		due := c.nextWithin(t)
		switch {
		case due.IsZero(), change.IsZero(), due.Before(change):
			return due
		case c.skipped(change), c.dueAt(change):
			return change
		}
		t = change
	}
	return time.Time{}
}

// nextWithin returns the first time after t, assuming t's UTC offset from t on. Without
// anyHour, nextWithin leaves out wall clock times shown before clocks were last put
// back.
func (c cronRule) nextWithin(t time.Time) time.Time {
	offset := offsetOf(t)
	from := face(t, offset)
	if start, _ := t.ZoneBounds(); !start.IsZero() && !c.anyHour {
		if shown := face(start, offsetOf(start.Add(-time.Second))); from.Before(shown) {
			from = shown.Add(-time.Second)
		}
	}
	next := c.faces.Next(from)
	if next.IsZero() {
		return next
	}
	return next.Add(-offset).In(t.Location())
}

// dueAt reports whether a job is due at the very moment of a clock change.
func (c cronRule) dueAt(change time.Time) bool {
	before, after := offsetOf(change.Add(-time.Second)), offsetOf(change)
	if !c.anyHour && after < before {
		return false // clocks have shown the time before
	}
	shown := face(change, after)
	return c.faces.Next(shown.Add(-time.Second)).Equal(shown)
}

// skipped reports whether clocks skip a due time at a change.
func (c cronRule) skipped(change time.Time) bool {
	first, after := face(change, offsetOf(change.Add(-time.Second))), face(change, offsetOf(change))
	if c.anyHour || !first.Before(after) {
		return false
	}
	next := c.faces.Next(first.Add(-time.Second))
	return !next.IsZero() && next.Before(after)
}

// face returns the wall clock time at t with an offset, as a time in UTC.
func face(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// onClock returns the first time at which clocks of the zone show wall, given in UTC. ok
// is false if clocks skip wall.
func onClock(wall time.Time, zone *time.Location) (at time.Time, ok bool) {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	for _, near := range []time.Time{guess.Add(-day), guess.Add(day)} { // assumes at most one clock change between the two
		at := wall.Add(-offsetOf(near)).In(zone)
		if face(at, offsetOf(at)).Equal(wall) {
			return at, true
		}
	}
	return guess, false
}

const day = 24 * time.Hour
