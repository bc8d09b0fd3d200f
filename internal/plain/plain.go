// Package plain makes texts from outside harmless for a terminal.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text from outside as a terminal may show it: control characters,
// with which it could move the cursor or give commands to the terminal, and those
// that change the direction of writing are shown as U+FFFD; line ends and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Sentence is Line for a text that stands alone, as of an error: it begins with a capital
// letter and ends with a full stop, unless it is a question.
func Sentence(s string) string {
	first, size := utf8.DecodeRuneInString(Line(s))
	if size == 0 {
		return ""
	}
	rest := Line(s)[size:]
	if !strings.HasSuffix(rest, "?") {
		rest = strings.TrimSuffix(rest, ".") + "."
	}
	return string(unicode.ToUpper(first)) + rest
}

// Line is Text for what must stay on one line.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }
