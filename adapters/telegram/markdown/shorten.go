package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
)

const ellipsis = "…"

// Shorten returns a text of at most limit UTF-16 units: the text itself, or its
// beginning and an ellipsis, cut between words where there is a space in the
// last quarter, else between characters as they are seen. It is for texts of a
// line or a few; a limit below 1 leaves nothing.
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

// wholeCharacters returns where the last character ends that is whole before end,
// as people see characters. It is 0 if there is none.
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
