package cli

import (
	"encoding/json"
	"strconv"
	"strings"
)

// appendObject appends a line of the log as a JSON object: the members of a line of slog's
// JSON or text handler, or any other line, such as one of a panic, as the member "msg".
func appendObject(b []byte, line string) []byte {
	if strings.HasPrefix(line, "{") && json.Valid([]byte(line)) {
		return append(b, line...)
	}
	began, sep := len(b), byte('{')
	member := func(key, value string) {
		b = append(b, sep)
		b = append(appendString(b, key), ':')
		b = appendString(b, value)
		sep = ','
	}
	// The runtime also prints lines of pairs, but none that begins with the time.
	rest, ok := line, strings.HasPrefix(line, "time=")
	for ok && rest != "" {
		var key, value string
		key, rest, ok = cutWord(rest, '=')
		if ok {
			value, rest, ok = cutWord(rest, ' ')
		}
		member(key, value)
	}
	if !ok {
		b, sep = b[:began], '{'
		member("msg", line)
	}
	return append(b, '}')
}

// cutWord returns the key or value, quoted or not, at the beginning of s, and what follows
// the separator after it. The last value has none. slog quotes as Go does, with escapes that
// readers of logfmt do not know.
func cutWord(s string, separator byte) (word, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		word, rest, ok = strings.Cut(s, string(separator))
		return word, rest, (ok || separator == ' ') && !strings.ContainsAny(word, ` ="`)
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	word, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
	rest, ok = strings.CutPrefix(s[len(quoted):], string(separator))
	return word, rest, ok || rest == "" && separator == ' '
}

func appendString(b []byte, s string) []byte {
	raw, _ := json.Marshal(s) // a string can always be encoded
	return append(b, raw...)
}
