// Package plain makes texts from outside harmless for a terminal.
package plain

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Commands reports whether a terminal may do something else with a character than show
// it. Line ends and tabs are among them.
func Commands(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// JSON returns a JSON document with those characters escaped that [Commands] reports, but
// for line ends. They are only in strings, where JSON itself demands it of but a part;
// line ends are between its parts. What is not UTF-8 becomes U+FFFD.
func JSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, func(r rune) bool { return r == utf8.RuneError || r != '\n' && Commands(r) }) {
		return doc
	}
	b := make([]byte, 0, len(doc)+len(doc)/8)
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		if r != '\n' && Commands(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
		doc = doc[size:]
	}
	return b
}

// Text returns a text from outside as a terminal may show it: control characters,
// with which it could move the cursor or give commands to the terminal, and those
// that change the direction of writing are shown as U+FFFD; line ends and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case Commands(r):
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
