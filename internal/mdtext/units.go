package mdtext

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const ellipsis = "…"

// Units returns the length of a text in UTF-16 units.
func Units(text string) int {
	units := 0
	for _, c := range text {
		units += unitsOf(c)
	}
	return units
}

func unitsOf(c rune) int {
	if c > 0xFFFF {
		return 2
	}
	return 1
}

// Advance returns the byte offset that lies the given number of UTF-16 units after
// start. Advance stops before a surrogate pair that would exceed units, and at the end
// of the text.
func Advance(text string, start, units int) int {
	for at := start; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		if units -= unitsOf(c); units < 0 {
			return at
		}
		at += size
	}
	return len(text)
}

// Shorten returns text unchanged if at most limit UTF-16 units long, else the beginning
// and an ellipsis. Shorten cuts at a space in the last quarter, if any, else between
// grapheme clusters. Shorten is meant for texts of a few lines; a limit below 1 yields
// "".
func Shorten(text string, limit int) string {
	if Advance(text, 0, limit) == len(text) {
		return text
	}
	if limit < 1 {
		return ""
	}
	end := Advance(text, 0, limit-1)
	if i := strings.LastIndexAny(text[:end], " \n"); i > end*3/4 {
		end = i
	} else {
		end = WholeCharacters(text, end)
	}
	return strings.TrimRight(text[:end], " \n") + ellipsis
}

// WholeCharacters returns the end of the last grapheme cluster that is complete before
// end, or 0 if none is.
func WholeCharacters(text string, end int) int {
	state, rest, at := -1, text, 0
	for at < end {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if at+len(cluster) > end {
			break
		}
		at += len(cluster)
	}
	return at
}
