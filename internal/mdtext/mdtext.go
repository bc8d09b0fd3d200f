// Package mdtext writes the gateway's own texts for people as Markdown: words of others, which
// must not act as Markdown, code, and counts, times and durations.
package mdtext

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/internal/visible"
)

// Literal escapes a text, on one line, to make Markdown show the text unchanged.
func Literal(text string) string {
	var b strings.Builder
	for _, r := range OneLine(text) {
		if strings.ContainsRune("$()[]", r) { // escaped, they would enclose formulas
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		if r < 0x80 && strings.ContainsRune("!\"#%&'*+,-./:;<=>?@\\^_`{|}~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), `\_`, "&#95;") // emphasis does not end behind an escaped underscore
}

// Code formats a text as inline code.
func Code(text string) string {
	text = OneLine(text)
	if text == "" {
		return ""
	}
	fence := Fence("`", text)
	if fence == "`" {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}

// Fence returns backquotes, at least those given, that do not occur in a text.
func Fence(least, text string) string {
	for strings.Contains(text, least) {
		least += "`"
	}
	return least
}

// Brief shortens a text to one line of at most n UTF-16 units, with escapes for the characters
// without a glyph.
func Brief(text string, n int) string { return Shorten(visible.Words(text), n) }

// Stopless returns a sentence without its full stop, and without spaces and line ends there: for a text that goes on.
func Stopless(sentence string) string { return strings.TrimRight(sentence, ".\n ") }

// Ended returns a sentence with one full stop, whether or not it has one.
func Ended(sentence string) string { return Stopless(sentence) + "." }

// Count returns a number with its noun.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Clock returns the time of a moment, and the day unless it is today.
func Clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 January 15:04")
}

// Duration returns a duration in at most two units, and never zero.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", max(d.Seconds(), 0.1))
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// OneLine replaces each run of spaces and line ends with one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
