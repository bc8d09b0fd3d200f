package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsUnsafe reports whether a terminal may do more with a character than show it. Line ends
// and tabs are unsafe too.
func IsUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// SafeJSON escapes the unsafe characters of a JSON document, except line ends, which
// separate its parts. Unsafe characters occur only in strings. Bytes that are not UTF-8
// become U+FFFD.
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

// Safe replaces unsafe characters of a text by U+FFFD: control characters, which could
// move the cursor or control the terminal, and characters that change the direction of
// writing. Line ends and tabs stay.
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

// SafeSentence is SafeLine for a text that stands alone, such as an error: the result
// begins with a capital letter and ends with a full stop or question mark.
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

// SafeLine is Safe for a text on one line.
func SafeLine(s string) string { return strings.Join(strings.Fields(Safe(s)), " ") }
