package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsUnsafe reports whether a terminal may do something else with a character than show
// it. Line ends and tabs are among them.
func IsUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// SafeJSON returns a JSON document with those characters escaped that [IsUnsafe] reports, but
// for line ends. They are only in strings, where JSON itself demands it of but a part;
// line ends are between its parts. What is not UTF-8 becomes U+FFFD.
func SafeJSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, func(r rune) bool { return r == utf8.RuneError || r != '\n' && IsUnsafe(r) }) {
		return doc
	}
	b := make([]byte, 0, len(doc)+len(doc)/8)
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		if r != '\n' && IsUnsafe(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
		doc = doc[size:]
	}
	return b
}

// Safe returns a text from outside as a terminal may show it: control characters,
// with which it could move the cursor or give commands to the terminal, and those
// that change the direction of writing are shown as U+FFFD; line ends and tabs stay.
func Safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case IsUnsafe(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// SafeSentence is SafeLine for a text that stands alone, as of an error: it begins with a capital
// letter and ends with a full stop, unless it is a question.
func SafeSentence(s string) string {
	first, size := utf8.DecodeRuneInString(SafeLine(s))
	if size == 0 {
		return ""
	}
	rest := SafeLine(s)[size:]
	if !strings.HasSuffix(rest, "?") {
		rest = strings.TrimSuffix(rest, ".") + "."
	}
	return string(unicode.ToUpper(first)) + rest
}

// SafeLine is Safe for what must stay on one line.
func SafeLine(s string) string { return strings.Join(strings.Fields(Safe(s)), " ") }
