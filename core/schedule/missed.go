package schedule

import (
	"bareclaw/internal/humanize"
	"fmt"
	"strings"
	"time"
)

// onTime is how long after its due time an occurrence still counts as sent in time: a
// gateway that was restarted or killed, or a machine that has just woken up, looks
// within that.
const punctual = 2 * time.Minute

// A MissedRule says what becomes of an occurrence whose time has passed when it is
// looked at: it is sent late if that is not later than Within. The zero value means never.
type MissedRule struct{ Within time.Duration }

const always = time.Duration(1<<63 - 1)

// ParseMissed reads "skip", "once" or "within DURATION". The error is an *InvalidError.
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

// String returns the form that ParseMissed reads.
func (m MissedRule) String() string {
	switch m.Within {
	case 0:
		return "skip"
	case always:
		return "once"
	}
	return "within " + humanize.Span(m.Within)
}

// A verdict is what is to become of an occurrence.
type verdict struct {
	due     time.Time
	send    bool
	late    bool
	why     string
	skipped bool // it has its outcome already
}

// settle keeps an occurrence from being sent, or counted as missed.
func (v *verdict) skip() { v.send, v.skipped = false, true }

// judge says what becomes of occurrences that came due, oldest first, of which more
// came before: at most the newest one is sent.
func classify(dues []time.Time, more int, now time.Time, rule MissedRule) []verdict {
	all := make([]verdict, len(dues))
	for i, due := range dues {
		v := &all[i]
		v.due = due
		late := now.Sub(due)
		switch {
		case i < len(dues)-1:
			v.why = "A later one came due before this could be sent."
		case late <= punctual:
			v.send = true
		case late <= rule.Within:
			v.send, v.late = true, true
		default:
			v.why = fmt.Sprintf("It could not be sent within %s of its time (missed: %s).", humanize.Span(max(punctual, rule.Within)), rule)
		}
		if !v.send {
			v.why += " The gateway did not run, the machine slept, its disk was full, or prechecks took long."
		}
		if i == 0 && more > 0 {
			v.why = strings.TrimSpace(fmt.Sprintf("%s %d earlier ones were missed too.", v.why, more))
		}
	}
	return all
}
