package rules

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/internal/humanize"
)

// times returns the figure "7 times".
func times(n int) Figure { return Figure(humanize.Count(n, "time")) }

// took returns the figure of a duration: "340 ms" or "1.2 s".
func took(d time.Duration) Figure {
	if d < time.Second {
		return Figure(fmt.Sprintf("%d ms", max(0, d).Milliseconds()))
	}
	return Figure(fmt.Sprintf("%.1f s", d.Seconds()))
}

// milliseconds returns n milliseconds as a duration.
func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// bytesOf returns the figure of a size: "51 kB" or "1.2 MB".
func bytesOf(n int64) Figure {
	switch {
	case n < kilo:
		return Figure(fmt.Sprintf("%d bytes", n))
	case n < kilo*kilo:
		return Figure(fmt.Sprintf("%d kB", n/kilo))
	}
	return Figure(fmt.Sprintf("%.1f MB", float64(n)/(kilo*kilo)))
}

// number returns the figure of an average: "6" or "6.5".
func number(n float64) Figure {
	return Figure(strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0"))
}

// percent returns the figure of a part of a whole: "40%".
func percent(part, total int) Figure {
	return Figure(fmt.Sprintf("%d%%", part*whole/max(total, 1)))
}

// name returns a name that the app has given, on one line and not too long.
func name(s string) string { return line(s, maxName) }

// message returns a text of the app as a figure.
func message(s string) Figure { return Figure(line(s, maxMessage)) }

func line(s string, limit int) string {
	return humanize.Shorten(strings.Join(strings.Fields(humanize.Plain(s)), " "), limit)
}

// distinct returns the matches without those that have the endpoint and the words of one before.
func distinct(matches []Match) []Match {
	type problem struct{ endpoint, known string }
	seen := make(map[problem]bool, len(matches))
	kept := matches[:0]
	for _, m := range matches {
		p := problem{m.Endpoint, m.Description.known}
		if !seen[p] {
			seen[p] = true
			kept = append(kept, m)
		}
	}
	return kept
}
