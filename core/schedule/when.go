package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bareclaw/internal/humanize"
)

// A When describes the due times of a job: exactly one field is set.
type When struct {
	Cron  *cronRule     // five fields, or a descriptor such as @daily
	At    time.Time     // a single time
	Every time.Duration // an interval, counted from the job's creation
}

const (
	minEvery  = time.Minute
	maxEvery  = 366 * 24 * time.Hour
	farthest  = 10 * 366 * 24 * time.Hour // bound on the distance of an "at"
	maxPhrase = 200                       // bytes of a When
)

// Accepted describes the input of ParseWhen for clients of the API. Error texts of
// ParseWhen end with Accepted where helpful.
const Accepted = `Send "cron" and a cron expression of five fields (cron 0 9 * * 1-5) or @hourly, @daily, @weekly, @monthly, @yearly; ` +
	`"at" and a time (at 2026-11-23 09:00, at 2026-11-23T09:00:00+01:00, at 18:30); "in" and a duration (in 20m); ` +
	`or "every" and a duration of at least a minute (every 2h, every 1d).`

// ParseWhen parses "cron EXPRESSION", "at TIME", "in DURATION" or "every DURATION", or a
// bare cron expression. A time without an offset is in zone; for a time that clocks show
// twice, ParseWhen takes the first. The error is an *InvalidError.
func ParseWhen(text string, now time.Time, zone *time.Location) (When, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxPhrase {
		return When{}, invalid("when", "It is longer than %d bytes. %s", maxPhrase, Accepted)
	}
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "cron":
		return parseCron(rest, now, zone)
	case "at":
		return parseAt(rest, now, zone)
	case "in":
		d, err := parseDuration(rest)
		if err != nil || d <= 0 || d > farthest {
			return When{}, invalid("when", "%q is not a duration to wait. %s", rest, Accepted)
		}
		return When{At: upToSecond(now.Add(d))}, nil
	case "every":
		d, err := parseDuration(rest)
		if err != nil || d < minEvery || d > maxEvery || d%time.Second != 0 {
			return When{}, invalid("when", "%q is not a duration between a minute and 366 days, in whole seconds. %s", rest, Accepted)
		}
		return When{Every: d}, nil
	}
	if strings.HasPrefix(text, "@") || len(strings.Fields(text)) == cronFields {
		return parseCron(text, now, zone)
	}
	return When{}, invalid("when", "%q does not say when. %s", text, Accepted)
}

func parseCron(expression string, now time.Time, zone *time.Location) (When, error) {
	c, err := newCron(expression)
	if err != nil {
		return When{}, invalid("when", "%q is not a cron expression: %s. %s", expression, err, Accepted)
	}
	if c.next(now, zone).IsZero() {
		return When{}, invalid("when", "%q never comes.", expression)
	}
	return When{Cron: c}, nil
}

func parseAt(text string, now time.Time, zone *time.Location) (When, error) {
	at, err := momentOf(text, now, zone)
	if err != nil {
		return When{}, err
	}
	at = upToSecond(at)
	switch {
	case !at.After(now):
		return When{}, invalid("when", "%s is past: it is %s there now.", text, now.In(zone).Format(time.DateTime))
	case at.Sub(now) > farthest:
		return When{}, invalid("when", "%s is more than ten years away.", text)
	}
	return When{At: at}, nil
}

func momentOf(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		wall, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at, ok := onClock(wall, zone)
		if !ok {
			return at, invalid("when", "There is no %s in %s: clocks are put forward then.", text, zone)
		}
		return at, nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, invalid("when", "%q is not a time. %s", text, Accepted)
	}
	today := now.In(zone)
	for day := range 3 { // today, or the next day with the time
		wall := time.Date(today.Year(), today.Month(), today.Day()+day, clock.Hour(), clock.Minute(), 0, 0, time.UTC)
		if at, ok := onClock(wall, zone); ok && at.After(now) {
			return at, nil
		}
	}
	return time.Time{}, invalid("when", "There is no %s in %s in the next days.", text, zone)
}

// upToSecond rounds up to a whole second, as due times have no fraction.
func upToSecond(t time.Time) time.Time {
	if down := t.Truncate(time.Second); !down.Equal(t) {
		return down.Add(time.Second)
	}
	return t.Truncate(time.Second) // strips the monotonic clock reading
}

// parseDuration is time.ParseDuration with days, as in 1d and 1d12h.
func parseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16) // 65535 days fit in a Duration
	if err != nil {
		return 0, err
	}
	whole := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return whole, nil
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 || part > 24*time.Hour {
		return 0, invalid("when", "%q is not a part of a day.", rest)
	}
	return whole + part, nil
}

// String returns the When in the form accepted by ParseWhen.
func (w When) String() string {
	switch {
	case w.Cron != nil:
		return "cron " + w.Cron.expression
	case w.Every > 0:
		return "every " + humanize.Span(w.Every)
	}
	return "at " + w.At.Format(time.RFC3339)
}

// readWhen parses a stored When, without the checks of ParseWhen: the stored form may be longer
// than the accepted request, or later by a fraction of a second.
func readWhen(text string) (When, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "cron":
		c, err := newCron(rest)
		return When{Cron: c}, err
	case "every":
		d, err := time.ParseDuration(rest)
		return When{Every: d}, err
	}
	at, err := time.Parse(time.RFC3339, rest)
	return When{At: at}, err
}

// punctual is the delay after the due time up to which an occurrence still counts as
// sent in time. A restarted or killed gateway, or a machine that has just woken up,
// polls within the delay.
const punctual = 2 * time.Minute

// parseMissed parses "skip", "once" or "within DURATION", and returns the delay up to which
// an occurrence polled after its due time is sent late; 0 means never. The error is an
// *InvalidError.
func parseMissed(text string) (within time.Duration, err error) {
	switch text {
	case "skip":
		return 0, nil
	case "once":
		return math.MaxInt64, nil
	}
	if rest, ok := strings.CutPrefix(text, "within "); ok {
		if d, err := parseDuration(strings.TrimSpace(rest)); err == nil && d >= punctual && d <= maxEvery {
			return d, nil
		}
	}
	return 0, invalid("missed", `%q does not say what becomes of an occurrence that was missed. `+
		`Send "skip" (it is only noted), "once" (the newest one is sent late) or "within" and a duration of 2 minutes to 366 days `+
		`(within 30m: the newest one is sent late, if it is not later than that).`, text)
}

// classify decides about due occurrences by the job's Missed. The due times come oldest
// first; more is the number of even older occurrences. The newest occurrence is Sent if not
// too late, and all others are Missed.
func classify(dues []time.Time, more int, now time.Time, missed string) ([]Occurrence, error) {
	within, err := parseMissed(missed)
	if err != nil {
		return nil, err
	}
	within = max(punctual, within)
	all := make([]Occurrence, len(dues))
	for i, due := range dues {
		o := &all[i]
		o.Due, o.Outcome = due, Missed
		late := now.Sub(due)
		switch {
		case i < len(dues)-1:
			o.Why = "A later one came due before this could be sent."
		case late <= within:
			o.Outcome, o.Late = Sent, late > punctual
		default:
			o.Why = fmt.Sprintf("It could not be sent within %s of its time (missed: %s).", humanize.Span(within), missed)
		}
		if o.Outcome == Missed {
			o.Why += " The gateway did not run, the machine slept, its disk was full, or prechecks took long."
		}
		if i == 0 && more > 0 {
			o.Why = strings.TrimSpace(fmt.Sprintf("%s %d earlier ones were missed too.", o.Why, more))
		}
	}
	return all, nil
}
