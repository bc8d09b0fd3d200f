package claude

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// unixTime reads seconds since 1970; some versions write milliseconds.
func unixTime(n int64) time.Time {
	const notSeconds = 1e11 // the year 5138
	switch {
	case n <= 0:
		return time.Time{}
	case n >= notSeconds:
		return time.UnixMilli(n)
	}
	return time.Unix(n, 0)
}

// claude names the end of a limit in two ways: "…|1749924000", and "… resets 3pm
// (Europe/Berlin)" or "… resets Oct 9, 3:30pm (UTC)". The patterns are compiled on demand,
// since every session host runs this package's init.
var (
	limitStamp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`limit reached\|(\d{9,13})\b`) })
	limitClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`resets (?:at )?(?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at) )?(\d{1,2}(?::\d\d)?[ap]m)(?: \(([\w+/-]+)\))?`)
	})
)

// limitEnds reads the end of a usage limit from the text of a failed turn; zero if the text
// does not name an end. A clock time is the next such time after now, in local time unless
// a zone is named.
func (r rawResult) limitEnds(now time.Time) time.Time {
	for _, s := range append([]string{r.Text}, r.Errors...) {
		if m := limitStamp().FindStringSubmatch(s); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64) // digits, and few
			return unixTime(n)
		}
		if m := limitClock().FindStringSubmatch(s); m != nil {
			return clockTime(now, m[1], m[2], m[3], m[4])
		}
	}
	return time.Time{}
}

func clockTime(now time.Time, month, day, clock, zone string) time.Time {
	// A limit that ended a moment ago is not tomorrow's.
	const momentAgo = 10 * time.Minute
	if loc, err := time.LoadLocation(zone); zone != "" && err == nil {
		now = now.In(loc)
	}
	layout := "3pm"
	if strings.Contains(clock, ":") {
		layout = "3:04pm"
	}
	c, err := time.Parse(layout, clock)
	if err != nil {
		return time.Time{} // 13pm
	}
	date := now
	if month != "" {
		if date, err = time.ParseInLocation("Jan 2 2006", month+" "+day+" "+strconv.Itoa(now.Year()), now.Location()); err != nil {
			return time.Time{} // Foo 99
		}
	}
	t := time.Date(date.Year(), date.Month(), date.Day(), c.Hour(), c.Minute(), 0, 0, now.Location())
	switch passed := t.Before(now.Add(-momentAgo)); {
	case passed && month != "":
		return t.AddDate(1, 0, 0)
	case passed:
		return t.AddDate(0, 0, 1)
	}
	return t
}
