package humanize

import (
	"strings"
	"unicode/utf8"
)

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
