package capture

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaskBody returns the body with masks in the place of secrets, as fits its media type.
func MaskBody(media string, body []byte) []byte {
	switch {
	case isJSON(media) && looksLikeJSON(body):
		return MaskJSON(body)
	case media == "application/x-www-form-urlencoded":
		return []byte(maskForm(string(body)))
	}
	return []byte(MaskText(string(body)))
}

func isJSON(media string) bool {
	return strings.HasSuffix(media, "json") || strings.HasSuffix(media, "json-seq")
}

func looksLikeJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\x1e\ufeff")
	return len(body) > 0 && bytes.IndexByte([]byte("{[\"-0123456789tfn"), body[0]) >= 0
}

// MaskJSON returns JSON with masks in the place of the values of secret keys, and of what MaskText
// masks in other strings. Valid JSON stays valid. The JSON may be cut anywhere, nested to any depth, and
// one value after another. What is no JSON stays as it is, and so does a body without secrets, which is returned itself.
func MaskJSON(body []byte) []byte {
	m := jsonMasker{in: body}
	for m.at < len(m.in) {
		m.token()
	}
	if m.written == 0 {
		return body
	}
	return append(m.out, m.in[m.written:]...)
}

// A frame is an object or array that a jsonMasker is in.
type frame uint8

const (
	frameObject frame = 1 << iota
	frameSecret       // all values are secrets
)

type jsonMasker struct {
	in      []byte
	at      int
	out     []byte
	written int // of in
	frames  []frame
	isKey   bool // the next string is a key
	secret  bool // the next value is that of a secret key
}

// replace writes text in the place of what is between begin and end.
func (m *jsonMasker) replace(begin, end int, text string) {
	if m.out == nil {
		m.out = make([]byte, 0, len(m.in)+64)
	}
	m.out = append(m.out, m.in[m.written:begin]...)
	m.out = append(m.out, text...)
	m.written = end
}

func (m *jsonMasker) top() frame {
	if len(m.frames) == 0 {
		return 0
	}
	return m.frames[len(m.frames)-1]
}

func (m *jsonMasker) isSecret() bool { return m.secret || m.top()&frameSecret != 0 }

// token masks the next token, or leaves it.
func (m *jsonMasker) token() {
	c := m.in[m.at]
	switch {
	case c == '"':
		m.str()
		return
	case c == '-', '0' <= c && c <= '9':
		m.number()
		return
	case c == '{':
		m.push(frameObject)
	case c == '[':
		m.push(0)
	case c == '}', c == ']':
		m.frames = m.frames[:max(0, len(m.frames)-1)]
		m.isKey = false
		m.secret = false
	case c == ',':
		m.isKey = m.top()&frameObject != 0
		m.secret = false
	case c == '\n' && len(m.frames) == 0:
		m.secret = false
	case c == ':':
		m.isKey = false
	}
	m.at++
}

func (m *jsonMasker) push(f frame) {
	if m.isSecret() {
		f |= frameSecret
	}
	m.frames = append(m.frames, f)
	m.isKey = f&frameObject != 0
	m.secret = false
}

// str masks the string that begins here, or leaves it.
func (m *jsonMasker) str() {
	begin := m.at + 1
	inner := m.untilQuote()
	var masked string
	switch {
	case m.isKey:
		m.secret = isSecretKey(inner)
		return
	case m.isSecret():
		masked = maskValue(string(inner))
	case !mayHaveSecret(inner):
		return
	default:
		masked = maskInString(inner)
	}
	if masked != string(inner) {
		m.replace(begin, begin+len(inner), masked)
	}
}

// isSecretKey reports whether the inner of a JSON string is the name of a secret.
func isSecretKey(inner []byte) bool {
	if bytes.IndexByte(inner, '\\') < 0 {
		return isSecretName(inner)
	}
	return isSecretName(plainString(inner))
}

// mayHaveSecret rules out most texts in which MaskText finds nothing.
func mayHaveSecret(text []byte) bool {
	return bytes.IndexByte(text, ':') >= 0 || bytes.IndexByte(text, '=') >= 0
}

// untilQuote moves behind the string that begins here, and returns what is between its quotes, or behind the first one.
func (m *jsonMasker) untilQuote() (inner []byte) {
	begin := m.at + 1
	for m.at = begin; m.at < len(m.in); m.at++ {
		switch m.in[m.at] {
		case '\\':
			m.at++
		case '"':
			inner = m.in[begin:m.at]
			m.at++
			return inner
		}
	}
	m.at = len(m.in)
	return m.in[begin:]
}

func (m *jsonMasker) number() {
	begin := m.at
	for m.at < len(m.in) && strings.IndexByte("+-.0123456789eE", m.in[m.at]) >= 0 {
		m.at++
	}
	if m.isSecret() {
		m.replace(begin, m.at, `"`+Mask(m.at-begin)+`"`)
	}
}

// plainString returns what the inner of a JSON string means, or the inner itself if it is not correct.
func plainString(inner []byte) string {
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	quoted := append(append([]byte{'"'}, inner...), '"')
	var plain string
	if err := json.Unmarshal(quoted, &plain); err != nil {
		return string(inner)
	}
	return plain
}

// maskInString returns the inner of a JSON string with masks in the place of secrets.
func maskInString(inner []byte) string {
	plain := plainString(inner)
	masked := MaskText(plain)
	if masked == plain {
		return string(inner)
	}
	quoted, err := json.Marshal(masked)
	if err != nil {
		return string(inner)
	}
	return string(quoted[1 : len(quoted)-1])
}
