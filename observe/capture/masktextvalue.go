package capture

import "strings"

// maxBetween is how far a name and its separator, or the separator and the value, may be apart, in bytes.
const maxBetween = 24

// quotes are what stands around values, in URLs and HTML too. With a backslash before it, so may the end.
var quotes = []string{`"`, "'", "`", "%22", "%27", "%2522", "&quot;", "&#34;", "&#39;", "&#x27;"}

// quoteAt returns the quote that the text begins with, or "".
func quoteAt(text string) string {
	if text == "" || strings.IndexByte("\"'`%&", text[0]) < 0 {
		return ""
	}
	for _, quote := range quotes {
		if strings.HasPrefix(text, quote) {
			return quote
		}
	}
	return ""
}

// betweens are what may stand between a name and its separator.
var betweens = append([]string{"%20", "%5D", "%5d", "%255D"}, quotes...)

// nameBefore returns the name that the text ends with, before a separator, as far as it matters.
func nameBefore(text string) string {
	end := len(text)
	for len(text)-end < maxBetween {
		n := betweenLength(text[:end])
		if n == 0 {
			break
		}
		end -= n
	}
	begin := end
	for begin > 0 && end-begin < 64 && isNameByte(text[begin-1]) {
		begin--
	}
	name := text[begin:end]
	if begin > 0 && text[begin-1] == '%' {
		name = strings.TrimPrefix(name, "25")
		name = name[min(len(name), 2):]
	}
	return name
}

// betweenLength returns the length of what the text ends with that may stand between, or 0.
func betweenLength(text string) int {
	n := len(text)
	if n == 0 {
		return 0
	}
	switch text[n-1] {
	case ' ', '\t', '\\', '"', '\'', '`':
		return 1
	case ';':
	default:
		isEscape := n >= 3 && text[n-3] == '%' || n >= 5 && text[n-5] == '%'
		if !isEscape {
			return 0
		}
	}
	for _, between := range betweens {
		if strings.HasSuffix(text, between) {
			return len(between)
		}
	}
	return 0
}

func isNameByte(c byte) bool {
	return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '[' || c == ']'
}

// separatorEscape returns where an escaped separator ends that begins here, or 0.
func separatorEscape(text string, at int) int {
	for _, escape := range []string{"%3D", "%3A", "%3d", "%3a", "%253D", "%253A"} {
		if strings.HasPrefix(text[at:], escape) {
			return at + len(escape)
		}
	}
	return 0
}

// A textValue is where the value of a name begins.
type textValue struct {
	begin int
	quote string // what ends it; empty: it is not quoted
}

// valueAfter returns where the value begins that follows a separator. Between may be another separator, as in ":=",
// and quotes.
func (m *textMasker) valueAfter(end int) textValue {
	text := m.text
	at := end
	if at < len(text) && (text[at] == '=' || text[at] == '>') {
		at++
	}
	backslash := ""
	for at < len(text) && at-end < maxBetween {
		quote := quoteAt(text[at:])
		switch {
		case quote != "":
			return textValue{
				begin: at + len(quote),
				quote: backslash + quote,
			}
		case strings.HasPrefix(text[at:], "%20"):
			at += len("%20")
			continue
		case text[at] != ' ' && text[at] != '\t' && text[at] != '\\':
			return textValue{begin: at}
		}
		backslash = strings.Trim(text[at:at+1], " \t")
		at++
	}
	return textValue{begin: at}
}

// valueEnd returns where the value ends.
func (m *textMasker) valueEnd(v textValue, isEscaped bool) int {
	text := m.text[v.begin:]
	if n := maskLength(text); n > 0 {
		return v.begin + n
	}
	switch {
	case v.quote != "":
		return v.begin + quotedLength(text, v.quote)
	case text != "" && strings.IndexByte("[{(<", text[0]) >= 0:
		return v.begin + bracketedLength(text)
	}
	for i := range len(text) {
		if isValueEnd(text[i:], isEscaped) {
			return v.begin + i
		}
	}
	return len(m.text)
}

// isValueEnd reports whether a value without quotes ends before the text. A comma or a bracket may be part of the value:
// it ends there only if what follows reads as something else.
func isValueEnd(text string, isEscaped bool) bool {
	next := byte(0)
	if len(text) > 1 {
		next = text[1]
	}
	switch text[0] {
	case ' ', '\t', '\r', '\n', '&', '<':
		return true
	case '"', '\'', '`', ')', ']', '}', '>':
		return !isAlnum(next)
	case ',', ';':
		return strings.IndexByte("\x00 \t\r\n\"'`[{()]}<>&", next) >= 0 || isField(text[1:])
	case '%':
		return isEscaped && (strings.HasPrefix(text, "%26") || strings.HasPrefix(text, "%2526") || strings.HasPrefix(text, "%7D") || strings.HasPrefix(text, "%2C"))
	}
	return false
}

// isField reports whether the text begins with a name and a separator.
func isField(text string) bool {
	const longest = 64
	for i := range min(len(text), longest) {
		if !isNameByte(text[i]) {
			return i > 0 && (text[i] == '=' || text[i] == ':')
		}
	}
	return false
}

// quotedLength returns the length of a value up to the quote that ends it, or to the end of the line.
func quotedLength(text, quote string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote[0] && strings.HasPrefix(text[i:], quote), text[i] == '\n', text[i] == '\r':
			return i
		case text[i] == '\\':
			i++
		}
	}
	return len(text)
}

// maxBracketed is how long a value in brackets may be, in bytes.
const maxBracketed = 4 << 10

// bracketedLength returns the length of a value in brackets: of a list, an object, or a mask of the app, such as
// [REDACTED] or <hidden>. If they do not match, the value ends with the line.
func bracketedLength(text string) int {
	const longestMask = 24
	end := strings.IndexAny(text[:min(len(text), longestMask)], ">])}")
	if end > 0 && isOwnMask(text[:end+1]) {
		return end + 1
	}
	if text[0] == '<' {
		return 0
	}
	depth := 0
	text = text[:min(len(text), maxBracketed)]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'', '`':
			i += 1 + quotedLength(text[i+1:], text[i:i+1])
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		return end
	}
	return len(text)
}
