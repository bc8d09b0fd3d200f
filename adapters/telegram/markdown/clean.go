package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const replacement = utf8.RuneError

// Clean replaces or removes everything in text that Telegram refuses (invalid UTF-8), or
// silently removes or replaces (control characters, carriage returns, U+2028 to U+202E,
// three combining marks), and the characters that can reorder displayed text: in an
// approval people must see the command that will run. Harmful characters become U+FFFD,
// as visible evidence. Tabs remain.
//
// Telegram's rules: clean_input_string in td/telegram/misc.cpp.
func Clean(text string) string {
	if isClean(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	last := rune(-1) // not yet written, because a combining ring may follow
	for i, c := range text {
		switch {
		case c == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			continue
		case c == '\r' || c == '\u2028' || c == '\u2029':
			c = '\n'
		case c == '\u030A':
			last = withRing(last)
			continue
		case c == '\u0333' || c == '\u033F':
			continue
		case !allowed(c):
			c = replacement
		}
		if last >= 0 {
			out.WriteRune(last)
		}
		last = c
	}
	if last >= 0 {
		out.WriteRune(last)
	}
	return out.String()
}

// isClean reports whether Clean would return text unchanged.
func isClean(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		if !allowed(c) {
			return false
		}
	}
	return true
}

// allowed reports whether Telegram keeps the character c and c does not reorder text.
func allowed(c rune) bool {
	switch {
	case c < ' ':
		return c == '\n' || c == '\t'
	case c < 0x7F:
		return true
	case c <= 0x9F: // DEL and the C1 controls
		return false
	case c >= '\u2028' && c <= '\u202E', c >= '\u2066' && c <= '\u2069':
		return false
	}
	return c != '\u030A' && c != '\u0333' && c != '\u033F'
}

// withRing returns the precomposed form of c with a ring above, if any, else c: macOS
// writes file names in decomposed form, and Telegram removes the combining ring.
func withRing(c rune) rune {
	switch c {
	case 'a':
		return 'å'
	case 'A':
		return 'Å'
	case 'u':
		return 'ů'
	case 'U':
		return 'Ů'
	case 'w':
		return 'ẘ'
	case 'y':
		return 'ẙ'
	}
	return c
}

// isBlank reports whether text has no visible character. Telegram refuses blank
// messages; invisible covers all of Telegram's list (is_empty_string in
// td/telegram/misc.cpp).
func isBlank(text string) bool {
	for _, c := range text {
		if !invisible(c) {
			return false
		}
	}
	return true
}

func invisible(c rune) bool {
	if c > ' ' && c < 0x7F {
		return false
	}
	switch c {
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', '\uFFFC':
		return true // fillers
	}
	return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Variation_Selector, c) ||
		c >= 0xE0000 && c <= 0xE007F // tags
}

// tabStop is the distance of tab stops in code.
const tabStop = 4

// expandTabs replaces tabs with spaces up to the next tab stop, because Telegram
// replaces each tab with a single space.
func expandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var out strings.Builder
	column := 0
	for _, c := range text {
		switch c {
		case '\t':
			n := tabStop - column%tabStop
			out.WriteString("    "[:n])
			column += n
			continue
		case '\n':
			column = -1
		}
		out.WriteRune(c)
		column++
	}
	return out.String()
}
