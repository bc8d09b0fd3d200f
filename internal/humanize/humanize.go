// Package humanize writes amounts of USD, durations, sizes and times for people.
package humanize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	size "github.com/dustin/go-humanize"
)

const (
	usual = 2 // decimals
	most  = 9 // less is the noise of sums of amounts
)

// USD writes an amount with two decimals, or as many more as a small one needs for two
// digits.
func USD(usd float64) string { return write(round(usd, places(usd))) }

// USDOfLimit writes an amount spent and the limit. The limit is exact, and rounding never
// reverses the order of the two amounts, nor makes both equal below the limit.
func USDOfLimit(spent, limit float64) (spentText, limitText string) {
	spent, limit = round(spent, most), round(limit, most)
	exact := strings.TrimRight(strconv.FormatFloat(limit, 'f', most, 64), "0")
	_, decimals, _ := strings.Cut(exact, ".")
	n := max(len(decimals), places(spent))
	shown := round(spent, n)
	for ; spent < limit && shown >= limit && n < most; n++ {
		shown = round(spent, n+1)
	}
	return write(shown), write(limit)
}

// places is how many decimals an amount is rounded to by itself.
func places(usd float64) int {
	n := usual
	for small := usd; small > 0 && small < 0.1 && n < most; small *= 10 {
		n++
	}
	return n
}

// RoundUSD removes the rounding noise of a sum of amounts.
func RoundUSD(usd float64) float64 { return math.Round(usd*1e9) / 1e9 }

func round(usd float64, decimals int) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'f', decimals, 64), 64)
	if err != nil { // no number can be read back differently
		return usd
	}
	return f
}

// write writes a rounded amount with the usual decimals, and as many more as are not zero.
func write(usd float64) string {
	text := strconv.FormatFloat(usd, 'f', most, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	for len(decimals) > usual && strings.HasSuffix(decimals, "0") {
		decimals = decimals[:len(decimals)-1]
	}
	return "$" + whole + "." + decimals
}

// Bytes writes a number of bytes in the unit that fits: 300 MiB.
func Bytes(n uint64) string { return size.IBytes(n) }

// Shorten returns a text, or its beginning and an ellipsis, in at most limit characters.
func Shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	for i := range s {
		if limit--; limit == 0 {
			return strings.TrimRight(s[:i], " \n") + "…"
		}
	}
	return ""
}

// Plain returns a text without invalid bytes and without control characters other than line
// ends and tabs.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Duration writes a duration for a person.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(0, d).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < day:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Age writes the time since at, in whole seconds at the finest; empty for the zero time.
func Age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := now.Sub(at)
	if d < time.Second {
		return "now"
	}
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return Duration(d)
}

// Ago is Age as the end of a sentence.
func Ago(at, now time.Time) string {
	if a := Age(at, now); a != "now" {
		return a + " ago"
	}
	return "just now"
}

// Milliseconds is n milliseconds as a duration.
func Milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Clock is a moment in local time, with the day if that is not today.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// Count is a number of things: "1 message", "2 messages", "2 deliveries".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Span writes a duration as Go does, without units that are zero at its end: 1h, 2m30s.
func Span(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
