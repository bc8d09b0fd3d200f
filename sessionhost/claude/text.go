package claude

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text decodes a JSON string visited by Fields, "" for anything else.
func Text(value []byte) string { return text(value) }

// text decodes a JSON string value, "" for anything else (null, a number, an object). Like
// encoding/json it turns invalid UTF-8 and lone surrogates into U+FFFD. The scanner must
// have validated the value.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = unescape(inner)
	}
	if utf8.Valid(inner) {
		return string(inner)
	}
	return replaceInvalid(inner)
}

// unescape copies s with its escapes resolved, whole runs at a time: turns are mostly prose
// with few escapes.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...)
		}
		out = append(out, s[:i]...)
		switch c := s[i+1]; c {
		case 'u':
			r, n := unescapeRune(s[i:])
			out = utf8.AppendRune(out, r)
			s = s[i+n:]
			continue
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		default:
			out = append(out, c)
		}
		s = s[i+2:]
	}
}

// unescapeRune decodes the \uXXXX at the start of s, joins a surrogate pair, and returns
// the number of bytes read. Half a pair is U+FFFD.
func unescapeRune(s []byte) (rune, int) {
	r := hex4(s[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// replaceInvalid puts one U+FFFD for every invalid byte, as encoding/json does;
// bytes.ToValidUTF8 would merge a run.
func replaceInvalid(s []byte) string {
	out := make([]byte, 0, len(s)+utf8.UTFMax)
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		out = utf8.AppendRune(out, r)
		s = s[n:]
	}
	return string(out)
}
