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
// one value after another. What is no JSON stays as it is.
func MaskJSON(body []byte) []byte {
	m := jsonMasker{
		in:  body,
		out: make([]byte, 0, len(body)+64),
	}
	for m.at < len(m.in) {
		m.token()
	}
	return m.out
}

// A frame is an object or array that a jsonMasker is in.
type frame uint8

const (
	frameObject frame = 1 << iota
	frameSecret       // all values are secrets
)

type jsonMasker struct {
	in     []byte
	at     int
	out    []byte
	frames []frame
	isKey  bool // the next string is a key
	secret bool // the next value is that of a secret key
}

func (m *jsonMasker) top() frame {
	if len(m.frames) == 0 {
		return 0
	}
	return m.frames[len(m.frames)-1]
}

func (m *jsonMasker) isSecret() bool { return m.secret || m.top()&frameSecret != 0 }

// token copies or masks the next token.
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
	m.out = append(m.out, c)
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

// str copies or masks the string that begins here.
func (m *jsonMasker) str() {
	inner, closed := m.untilQuote()
	m.out = append(m.out, '"')
	switch {
	case m.isKey:
		m.secret = isSecretName(plainString(inner))
		m.out = append(m.out, inner...)
	case m.isSecret():
		m.out = append(m.out, maskValue(string(inner))...)
	default:
		m.out = append(m.out, maskInString(inner)...)
	}
	if closed {
		m.out = append(m.out, '"')
	}
}

// untilQuote moves behind the string that begins here, and returns what is between its quotes.
func (m *jsonMasker) untilQuote() (inner []byte, closed bool) {
	begin := m.at + 1
	for m.at = begin; m.at < len(m.in); m.at++ {
		switch m.in[m.at] {
		case '\\':
			m.at++
		case '"':
			inner = m.in[begin:m.at]
			m.at++
			return inner, true
		}
	}
	m.at = len(m.in)
	return m.in[begin:], false
}

func (m *jsonMasker) number() {
	begin := m.at
	for m.at < len(m.in) && strings.IndexByte("+-.0123456789eE", m.in[m.at]) >= 0 {
		m.at++
	}
	number := m.in[begin:m.at]
	if !m.isSecret() {
		m.out = append(m.out, number...)
		return
	}
	m.out = append(m.out, '"')
	m.out = append(m.out, Mask(len(number))...)
	m.out = append(m.out, '"')
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
func maskInString(inner []byte) []byte {
	if bytes.IndexByte(inner, ':') < 0 && bytes.IndexByte(inner, '=') < 0 {
		return inner
	}
	plain := plainString(inner)
	masked := MaskText(plain)
	if masked == plain {
		return inner
	}
	quoted, err := json.Marshal(masked)
	if err != nil {
		return inner
	}
	return quoted[1 : len(quoted)-1]
}
