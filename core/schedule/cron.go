package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

const cronFields = 5

// searchYears is how far ahead a cron expression is searched for its next time: the
// 29th of February is eight years away at most.
const searchYears = 12

// A cronRule is a cron expression. What it matches are times on a clock's face, which
// the library finds as if it were UTC; when clocks show them is worked out here: the
// library's own way with zones runs a job of a doubled hour twice, and loses one of a
// midnight that there is not.
//
//   - An expression whose hour is * follows time as it passes: its jobs run in each
//     hour, also in both of those with the same name.
//   - Any other names times of a day. What clocks skip is due at the moment at which
//     they are put forward, all of it at once; what they show twice is due the first time.
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
	case strings.Contains(fields[0], "="): // which the library takes for a zone
		return c, errors.New("the zone is a member of its own")
	default:
		c.anyHour = fields[1] == "*"
	}
	var err error
	c.faces, err = cron.MustNewParser(options).WithMaxSearchYears(searchYears).Parse(c.expression)
	return c, err
}

// next returns the first time after t in a zone; zero if there is none for years.
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

// nextWithin returns the first time after t, if clocks went on as they go at t. What
// they have shown before they were last put back is left out.
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

// dueAt reports whether a job is due at the very moment at which clocks change.
func (c cronRule) dueAt(change time.Time) bool {
	before, after := offsetOf(change.Add(-time.Second)), offsetOf(change)
	if !c.anyHour && after < before {
		return false // clocks have shown it
	}
	shown := face(change, after)
	return c.faces.Next(shown.Add(-time.Second)).Equal(shown)
}

// skipped reports whether a job's time is among those that clocks skip at a change.
func (c cronRule) skipped(change time.Time) bool {
	first, after := face(change, offsetOf(change.Add(-time.Second))), face(change, offsetOf(change))
	if c.anyHour || !first.Before(after) {
		return false
	}
	next := c.faces.Next(first.Add(-time.Second))
	return !next.IsZero() && next.Before(after)
}

// face is what clocks show at t with that offset, as a time of UTC.
func face(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// onClock returns when clocks of the zone show a time, given as one of UTC, the first
// time. ok is false if they skip it.
func onClock(wall time.Time, zone *time.Location) (at time.Time, ok bool) {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	for _, near := range []time.Time{guess.Add(-day), guess.Add(day)} { // clocks change at most once in between
		at := wall.Add(-offsetOf(near)).In(zone)
		if face(at, offsetOf(at)).Equal(wall) {
			return at, true
		}
	}
	return guess, false
}

const day = 24 * time.Hour
