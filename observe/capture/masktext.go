package capture

import "strings"

// MaskText returns the text with masks in the place of secrets: the values of "name=value" and
// "name: value", quoted or not, where the name is that of a secret, and the passwords of URLs.
// Masking a text again changes nothing.
func MaskText(text string) string {
	text = maskPassword(text)
	var b strings.Builder
	written := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '=' && text[at] != ':' {
			continue
		}
		if !isSecretName(nameBefore(text, at)) {
			continue
		}
		begin, end := valueAfter(text, at+1)
		value := text[begin:end]
		masked := maskValue(value)
		if masked != value {
			b.WriteString(text[written:begin])
			b.WriteString(masked)
			written = end
		}
		at = max(at, end-1)
	}
	if written == 0 {
		return text
	}
	b.WriteString(text[written:])
	return b.String()
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// isBetween reports whether the byte may stand between a name, its separator and its value.
func isBetween(c byte) bool {
	switch c {
	case ' ', '\t', '"', '\'', '`', '\\':
		return true
	}
	return false
}

// maxBetween is how far a name and its separator, or the separator and the value, may be apart, in bytes.
const maxBetween = 8

// nameBefore returns the name that ends before the separator at the position, as far as it matters.
func nameBefore(text string, at int) string {
	end := at
	for end > 0 && at-end < maxBetween && isBetween(text[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && end-begin < 64 && isNameByte(text[begin-1]) {
		begin--
	}
	return text[begin:end]
}

// valueAfter returns where the value begins and ends that follows a separator. Between may be another
// separator, as in ":=", quotes, and the scheme of credentials.
func valueAfter(text string, at int) (begin, end int) {
	begin = at
	if begin < len(text) && (text[begin] == '=' || text[begin] == '>') {
		begin++
	}
	quote := byte(0)
	for begin < len(text) && begin-at < maxBetween && isBetween(text[begin]) {
		c := text[begin]
		begin++
		if c == '"' || c == '\'' || c == '`' {
			quote = c
			break
		}
	}
	if quote == 0 {
		for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic "} {
			if strings.HasPrefix(text[begin:], scheme) {
				begin += len(scheme)
			}
		}
	}
	return begin, begin + valueLength(text[begin:], quote)
}

// valueLength returns the length of the value that the text begins with.
func valueLength(text string, quote byte) int {
	if strings.HasPrefix(text, maskBegin) {
		if end := strings.Index(text, maskEnd); end >= 0 {
			return end + len(maskEnd)
		}
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			if i > 0 && text[i-1] == '\\' {
				return i - 1
			}
			return i
		case c == '\n', c == '\r':
			return i
		case quote == 0 && strings.IndexByte(" \t,;&\"'`)}]<>", c) >= 0 && !isOwnMaskByte(text, i):
			return i
		}
	}
	return len(text)
}

// isOwnMaskByte reports whether the byte closes a mask of the app, such as [REDACTED] or <hidden>.
func isOwnMaskByte(text string, at int) bool {
	switch text[0] {
	case '[', '<', '{', '(':
		closing := text[at] == ']' || text[at] == '>' || text[at] == '}' || text[at] == ')'
		return at == 0 || closing && isOwnMask(text[:at+1])
	}
	return false
}
