package schedule

import (
	"fmt"
	"time"
)

// times computes the due times of a job.
type times struct {
	When
	zone *time.Location
	from time.Time // creation time of the job
}

// timesOf parses a job's times. local is the machine's zone.
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
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // which no zone is called
		return nil, invalid("tz", "%q is no time zone. Send its IANA name, such as Europe/Berlin, or leave it out for the machine's.", name)
	}
	return zone, nil
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
func (s times) upcoming(t time.Time, n int) []time.Time {
	var all []time.Time
	for range n {
		if t = s.next(t); t.IsZero() {
			break
		}
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
