package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"bareclaw/internal/zone"
)

// times computes the due times of a job.
type times struct {
	When
	zone *time.Location
	from time.Time // creation time of the job
}

// timesOf parses a job's times. local is the gateway's zone.
func timesOf(j *Job, local *time.Location) (times, error) {
	zone, err := zoneOf(j.TZ, local)
	if err != nil {
		return times{}, fmt.Errorf("schedule %s: %w", j.ID, err)
	}
	when, err := readWhen(j.When)
	if err != nil {
		return times{}, fmt.Errorf("schedule %s: read when it is due: %w", j.ID, err)
	}
	return times{when, zone, j.CreatedAt.Truncate(time.Second)}, nil
}

// zoneOf returns the named zone, local for an empty name.
func zoneOf(name string, local *time.Location) (*time.Location, error) {
	if name == "" {
		return local, nil
	}
	z, err := zone.Load(name)
	if err != nil {
		return nil, invalid("tz", "%q is not a time zone. Send an IANA name, such as Europe/Berlin, or no name for the gateway's zone.", name)
	}
	return z, nil
}

// next returns the first due time after t, the zero time if none follows.
func (s times) next(t time.Time) time.Time {
	switch {
	case s.Cron != nil:
		return s.Cron.next(t, s.zone)
	case s.Every > 0:
		since := t.Sub(s.from)
		if past := since % s.Every; past < 0 { // the clock was fast when the job was created
			return t.Add(-past).In(s.zone)
		}
		return t.Add(s.Every - since%s.Every).In(s.zone)
	case s.At.After(t):
		return s.At.In(s.zone)
	}
	return time.Time{}
}

// missedHorizon bounds the age of missed due times to consider.
const missedHorizon = 366 * 24 * time.Hour

// upcoming returns at most n due times after t.
func (s times) upcoming(t time.Time, n int) (all []time.Time) {
	for t = s.next(t); len(all) < n && !t.IsZero(); t = s.next(t) {
		all = append(all, t)
	}
	return all
}

// between returns the newest keep due times after from, up to and including now, oldest
// first, and the number of older due times. between looks back a year at most; for a job
// of every minute the search takes seconds.
func (s times) between(from, now time.Time, keep int) (dues []time.Time, more int) {
	if first := now.Add(-missedHorizon); from.Before(first) && s.At.IsZero() {
		from = first
	}
	for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
		if dues = append(dues, t); len(dues) >= 2*keep {
			more += keep
			dues = append(dues[:0], dues[keep:]...)
		}
	}
	if extra := len(dues) - keep; extra > 0 {
		more, dues = more+extra, dues[extra:]
	}
	return dues, more
}

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

func newCron(expression string) (*cronRule, error) {
	fields := strings.Fields(expression)
	c := &cronRule{expression: strings.Join(fields, " ")}
	options := cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom
	switch {
	case len(fields) == 1 && strings.HasPrefix(fields[0], "@") && !strings.HasPrefix(fields[0], "@every"):
		options |= cron.Descriptor
		c.anyHour = strings.EqualFold(fields[0], "@hourly")
	case strings.HasPrefix(expression, "@every"):
		return c, errors.New("use \"every\" for an interval")
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
func (c *cronRule) next(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	if c.anyHour {
		return c.nextElapsed(t)
	}
	for wall := c.faces.Next(face(t, offsetOf(t))); !wall.IsZero(); wall = c.faces.Next(wall) {
		if at, _ := onClock(wall, zone); at.After(t) { // else clocks show wall for the second time
			return at
		}
	}
	return time.Time{}
}

// nextElapsed returns the first time after t whose wall clock time matches, whether clocks
// have shown the wall clock time before or not.
func (c *cronRule) nextElapsed(t time.Time) time.Time {
	for at, offset := t, offsetOf(t); ; { // from one clock change to the next
		wall := c.faces.Next(face(t, offset))
		if wall.IsZero() {
			return wall
		}
		due := wall.Add(-offset).In(t.Location())
		_, change := at.ZoneBounds()
		if change.IsZero() || due.Before(change) {
			return due
		}
		t, at, offset = change.Add(-time.Second), change, offsetOf(change)
	}
}

// face returns the wall clock time at t with an offset, as a time in UTC.
func face(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// onClock returns the first time at which clocks of the zone show wall, given in UTC. If
// clocks skip wall, shown is false, and onClock returns the moment of the change.
func onClock(wall time.Time, zone *time.Location) (at time.Time, shown bool) {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	for _, near := range []time.Time{guess.Add(-day), guess.Add(day)} { // assumes at most one clock change between the two
		at := wall.Add(-offsetOf(near)).In(zone)
		if face(at, offsetOf(at)).Equal(wall) {
			return at, true
		}
	}
	_, change := guess.Add(-day).ZoneBounds()
	return change, false
}

const day = 24 * time.Hour
