package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
)

const ellipsis = "…"

// Shorten returns text unchanged if at most limit UTF-16 units long, else the beginning
// and an ellipsis. Shorten cuts at a space in the last quarter, if any, else between
// grapheme clusters. Shorten is meant for texts of a few lines; a limit below 1 yields
// "".
func Shorten(text string, limit int) string {
	if advance(text, 0, limit) == len(text) {
		return text
	}
	if limit < 1 {
		return ""
	}
	end := advance(text, 0, limit-1)
	if i := strings.LastIndexAny(text[:end], " \n"); i > end*3/4 {
		end = i
	} else {
		end = wholeCharacters(text, end)
	}
	return strings.TrimRight(text[:end], " \n") + ellipsis
}

// wholeCharacters returns the end of the last grapheme cluster that is complete before
// end, or 0 if none is.
func wholeCharacters(text string, end int) int {
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
