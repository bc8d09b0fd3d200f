package schedule

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/internal/humanize"
)

// punctual is the delay after the due time up to which an occurrence still counts as
// sent in time. A restarted or killed gateway, or a machine that has just woken up,
// polls within the delay.
const punctual = 2 * time.Minute

// A MissedRule decides about an occurrence polled after its due time: the occurrence is
// sent late if the delay does not exceed Within. The zero value means never.
type MissedRule struct{ Within time.Duration }

const always = time.Duration(1<<63 - 1)

// ParseMissed parses "skip", "once" or "within DURATION". The error is an *InvalidError.
func ParseMissed(text string) (MissedRule, error) {
	switch text {
	case "skip":
		return MissedRule{}, nil
	case "once":
		return MissedRule{always}, nil
	}
	if rest, ok := strings.CutPrefix(text, "within "); ok {
		if d, err := parseDuration(strings.TrimSpace(rest)); err == nil && d >= punctual && d <= maxEvery {
			return MissedRule{d}, nil
		}
	}
	return MissedRule{}, invalid("missed", `%q does not say what becomes of an occurrence that was missed. `+
		`Send "skip" (it is only noted), "once" (the newest one is sent late) or "within" and a duration of 2 minutes to 366 days `+
		`(within 30m: the newest one is sent late, if it is not later than that).`, text)
}

// String returns the rule in the form accepted by ParseMissed.
func (m MissedRule) String() string {
	switch m.Within {
	case 0:
		return "skip"
	case always:
		return "once"
	}
	return "within " + humanize.Span(m.Within)
}

// classify decides about occurrences that have come due, given oldest first, after more
// earlier ones. Each is Missed, or Sent if it is to be sent; at most the newest is.
func classify(dues []time.Time, more int, now time.Time, rule MissedRule) []Occurrence {
	all := make([]Occurrence, len(dues))
	for i, due := range dues {
		o := &all[i]
		o.Due, o.Outcome = due, Missed
		late := now.Sub(due)
		switch {
		case i < len(dues)-1:
			o.Why = "A later one came due before this could be sent."
		case late <= max(punctual, rule.Within):
			o.Outcome, o.Late = Sent, late > punctual
		default:
			o.Why = fmt.Sprintf("It could not be sent within %s of its time (missed: %s).", humanize.Span(max(punctual, rule.Within)), rule)
		}
		if o.Outcome == Missed {
			o.Why += " The gateway did not run, the machine slept, its disk was full, or prechecks took long."
		}
		if i == 0 && more > 0 {
			o.Why = strings.TrimSpace(fmt.Sprintf("%s %d earlier ones were missed too.", o.Why, more))
		}
	}
	return all
}
