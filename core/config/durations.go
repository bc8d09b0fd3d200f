package config

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const acceptedDuration = "a duration, as 90s, 10m or 1h30m"

// decodeDuration reads a Go duration of at least low.
func decodeDuration(text string, low time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration", quoted(text))
	case d < low:
		return 0, fmt.Errorf("%s is too short", quoted(text))
	}
	return d, nil
}

// A Duration is a time of more than 0.
type Duration time.Duration

// Decode reads a duration.
func (d *Duration) Decode(text string) error {
	n, err := decodeDuration(text, 1)
	*d = Duration(n)
	return err
}

// Accepted describes durations.
func (*Duration) Accepted() string { return acceptedDuration + ", of more than 0" }

// An OptionalDuration is a time of 0 or more; 0 means for ever.
type OptionalDuration time.Duration

// Decode reads a duration or 0.
func (d *OptionalDuration) Decode(text string) error {
	n, err := decodeDuration(text, 0)
	*d = OptionalDuration(n)
	return err
}

// Accepted describes durations and 0.
func (*OptionalDuration) Accepted() string { return acceptedDuration + ", where 0 means for ever" }

// An Interval is the time between two events, of a minute or more.
type Interval time.Duration

// Decode reads an interval.
func (i *Interval) Decode(text string) error {
	n, err := decodeDuration(text, time.Minute)
	*i = Interval(n)
	return err
}

// Accepted describes intervals.
func (*Interval) Accepted() string { return "a duration of a minute or more, as 30m or 1h" }

// An Age is how old something may become; 0 means any age.
type Age time.Duration

const day = 24 * time.Hour

var days = span{0, math.MaxInt64 / int64(day)}

// Decode reads a whole number of days with the suffix d, or a Go duration.
func (a *Age) Decode(text string) error {
	number, isDays := strings.CutSuffix(text, "d")
	if !isDays {
		n, err := decodeDuration(text, 0)
		*a = Age(n)
		return err
	}
	n, err := days.decode(number)
	*a = Age(n) * Age(day)
	return err
}

// Accepted describes ages.
func (*Age) Accepted() string { return "days or a duration, as 30d or 12h, where 0 means for ever" }

// A Milliseconds is a time that is written as a number of milliseconds; 0 means no limit.
type Milliseconds time.Duration

var milliseconds = span{0, math.MaxInt64 / int64(time.Millisecond)}

// Decode reads a number of milliseconds.
func (m *Milliseconds) Decode(text string) error {
	n, err := milliseconds.decode(text)
	*m = Milliseconds(n) * Milliseconds(time.Millisecond)
	return err
}

// Accepted describes numbers of milliseconds.
func (*Milliseconds) Accepted() string { return "milliseconds, where 0 means no limit" }

// An IdleTime is a time between a second and a day that is written as a number of milliseconds.
type IdleTime time.Duration

var idleTimes = span{1000, 24 * 60 * 60 * 1000}

// Decode reads a number of milliseconds.
func (i *IdleTime) Decode(text string) error {
	n, err := idleTimes.decode(text)
	*i = IdleTime(n) * IdleTime(time.Millisecond)
	return err
}

// Accepted describes these numbers of milliseconds.
func (*IdleTime) Accepted() string { return "milliseconds, " + idleTimes.String() }
