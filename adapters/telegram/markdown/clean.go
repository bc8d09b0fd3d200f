package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const replacement = utf8.RuneError

// telegramChanges makes the changes of Telegram to a text that lose nothing. Telegram removes
// three combining marks, also the ring of the decomposed letters in file names of macOS,
// which therefore become precomposed letters.
//
// Telegram's rules: clean_input_string in td/telegram/misc.cpp.
var telegramChanges = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n",
	"a\u030A", "å", "A\u030A", "Å", "u\u030A", "ů", "U\u030A", "Ů", "w\u030A", "ẘ", "y\u030A", "ẙ",
	"\u030A", "", "\u0333", "", "\u033F", "",
)

// Clean replaces or removes everything in text that Telegram refuses (invalid UTF-8), or
// silently removes or replaces (control characters, carriage returns, U+2028 to U+202E,
// three combining marks), and the characters that can reorder displayed text: in an
// approval people must see the command that will run. Harmful characters become U+FFFD,
// as visible evidence. Tabs remain.
func Clean(text string) string {
	return strings.Map(func(c rune) rune {
		if harmful(c) {
			return replacement
		}
		return c
	}, telegramChanges.Replace(text))
}

// harmful reports whether Telegram removes or replaces the character c, or c reorders
// text.
func harmful(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c >= 0x7F && c <= 0x9F || c >= '\u2028' && c <= '\u202E' || c >= '\u2066' && c <= '\u2069'
}

// isBlank reports whether text has no visible character. Telegram refuses blank
// messages; invisible covers all of Telegram's list (is_empty_string in
// td/telegram/misc.cpp).
func isBlank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !invisible(c) })
}

func invisible(c rune) bool {
	switch c {
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', '\uFFFC':
		return true // fillers
	}
	return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Variation_Selector, c) ||
		c < ' ' || c == 0x7F || c >= 0xE0000 && c <= 0xE007F // tags
}

// tabStop is the distance of tab stops in code.
const tabStop = 4

// expandTabs replaces tabs with spaces up to the next tab stop, because Telegram
// replaces each tab with a single space.
func expandTabs(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for _, c := range line {
			if c != '\t' {
				out.WriteRune(c)
				column++
				continue
			}
			n := tabStop - column%tabStop
			out.WriteString("    "[:n])
			column += n
		}
	}
	return out.String()
}
