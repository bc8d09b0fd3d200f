package humanize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	size "github.com/dustin/go-humanize"
)

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
