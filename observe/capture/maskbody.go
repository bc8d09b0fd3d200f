package capture

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaskBody returns the body with masks in the place of secrets, as fits its media type, and what the body looks like:
// not all that is sent as JSON is, clients send JSON as a form, and forms come without a type.
func MaskBody(media string, body []byte) []byte {
	if MayBeJSON(media, body) {
		m := jsonMasker{in: body}
		masked := m.mask()
		if !m.foreign {
			return masked
		}
		body = masked
	}
	if media == "application/x-www-form-urlencoded" || media == "" && looksLikeForm(body) {
		return []byte(maskForm(string(body), "&"))
	}
	return []byte(MaskText(string(body)))
}

// MayBeJSON reports whether a body is to be read as JSON: its media type says so, or it is text that begins as an object or array
// does, since apps send JSON as text, without a type, and as a form. Whether it is correct JSON, it does not say.
func MayBeJSON(media string, body []byte) bool {
	return strings.HasSuffix(media, "json") || strings.HasSuffix(media, "json-seq") || media == "application/jsonl" || IsText(media) && isObject(body)
}

// isObject reports whether the text begins as an object or array of JSON does.
func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n\x1e\ufeff")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// looksLikeForm reports whether the body begins with the name of a parameter and has no spaces.
func looksLikeForm(body []byte) bool {
	equals := bytes.IndexByte(body, '=')
	return equals > 0 && !bytes.ContainsAny(body[:equals], "<>{\"':") && !bytes.ContainsAny(body, " \t\r\n")
}

// MaskJSON returns JSON with masks in the place of the values of secret keys, and of what MaskText
// masks in other strings. Valid JSON stays valid. The JSON may be cut anywhere, nested to any depth, and
// one value after another. What is no JSON stays as it is, and so does a body without secrets, which is returned itself.
func MaskJSON(body []byte) []byte {
	m := jsonMasker{in: body}
	return m.mask()
}

// A frame is an object or array that a jsonMasker is in.
type frame uint8

const (
	frameObject frame = 1 << iota
	frameSecret       // all values are secrets
	frameText         // all values but numbers are
	frameNames        // an array of names, of whose secrecy the object around it is
)

type jsonMasker struct {
	in      []byte
	at      int
	frames  []frame
	pairs   []pair // of the frames
	edits   []edit
	role    role    // of the next value
	isKey   bool    // the next string is a key
	secret  secrecy // of the next value, by its key
	foreign bool    // there is something that JSON does not have
}

func (m *jsonMasker) mask() []byte {
	for m.at < len(m.in) {
		m.token()
	}
	return m.result()
}

func (m *jsonMasker) top() frame {
	if len(m.frames) == 0 {
		return 0
	}
	return m.frames[len(m.frames)-1]
}

// secrecy returns that of the next value.
func (m *jsonMasker) secrecy() secrecy {
	switch top := m.top(); {
	case top&frameSecret != 0:
		return secretAll
	case top&frameText != 0:
		return max(m.secret, secretText)
	}
	return m.secret
}

// token masks the next token, or leaves it.
func (m *jsonMasker) token() {
	c := m.in[m.at]
	if m.role == roleValue && !isSpace(c) && c != ':' {
		m.beginValue()
	}
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
		m.pop()
	case c == ',':
		m.endValue()
		m.isKey = m.top()&frameObject != 0
		m.secret = notSecret
	case c == '\n' && len(m.frames) == 0:
		m.secret = notSecret
	case c == ':':
		m.isKey = false
	case !isSpace(c):
		m.literal()
		return
	}
	m.at++
}

// literal moves behind true, false and null, and notes what is none of them.
func (m *jsonMasker) literal() {
	for _, literal := range []string{"true", "false", "null"} {
		isCut := len(m.in)-m.at < len(literal)
		if bytes.HasPrefix(m.in[m.at:], []byte(literal)) || isCut && strings.HasPrefix(literal, string(m.in[m.at:])) {
			m.at += len(literal)
			return
		}
	}
	const separators = "\x1e\ufeff"
	m.foreign = m.foreign || strings.IndexByte(separators, m.in[m.at]) < 0
	m.at++
}

func (m *jsonMasker) push(f frame) {
	switch m.secrecy() {
	case secretAll:
		f |= frameSecret
	case secretText:
		f |= frameText
	}
	if m.role == roleName && f&frameObject == 0 {
		f |= frameNames
	}
	m.role = roleNone
	m.frames = append(m.frames, f)
	m.pairs = append(m.pairs, pair{open: -1, last: -1})
	m.isKey = f&frameObject != 0
	m.secret = notSecret
}

// str masks the string that begins here, or leaves it.
func (m *jsonMasker) str() {
	begin := m.at + 1
	inner, has := m.untilQuote()
	var masked string
	switch {
	case m.isKey:
		m.key(inner)
		return
	case m.isNameNext() && m.name(inner):
		return
	case m.secrecy() != notSecret:
		masked = maskValue(string(inner))
	case !mayHaveSecret(inner, has):
		return
	default:
		masked = maskInString(inner)
	}
	if masked != string(inner) {
		m.replace(begin, begin+len(inner), masked)
	}
}

// secrecyOfKey returns that of the inner of a JSON string.
func secrecyOfKey(inner []byte) secrecy {
	if bytes.IndexByte(inner, '\\') < 0 {
		return secrecyOf(inner)
	}
	return secrecyOf(plainString(inner))
}

// mayHaveSecret rules out most texts in which MaskText finds nothing, by the bytes that they have.
func mayHaveSecret(text []byte, has byteKind) bool {
	switch {
	case has&byteSign != 0:
		return true
	case has&byteJ != 0 && bytes.Contains(text, []byte("eyJ")):
		return true
	case has&byteDash != 0 && (bytes.Contains(text, []byte("--")) || bytes.Contains(text, []byte("-u "))):
		return true
	case has&byteSpace == 0 || len(text) < len("basic x"):
		return false
	}
	if hasInsert(text) {
		return true
	}
	return bytes.Contains(text, []byte("earer")) || bytes.Contains(text, []byte("asic ")) || bytes.Contains(text, []byte("EARER")) || bytes.Contains(text, []byte("ASIC "))
}

// A byteKind says of a byte what it may be in a text.
type byteKind uint8

const (
	byteSign byteKind = 1 << iota // stands around values
	byteSpace
	byteJ // begins JSON Web Tokens
	byteDash
)

var byteKinds = [256]byteKind{
	':': byteSign, '=': byteSign, '%': byteSign, '\\': byteSign, '<': byteSign,
	' ': byteSpace, '+': byteSpace, 'J': byteJ, '-': byteDash,
}

// untilQuote moves behind the string that begins here, and returns what is between its quotes, or behind the first one, and
// which bytes it has.
func (m *jsonMasker) untilQuote() (inner []byte, has byteKind) {
	begin := m.at + 1
	at := begin
	for ; at < len(m.in); at++ {
		c := m.in[at]
		has |= byteKinds[c]
		switch c {
		case '\\':
			at++
		case '"':
			m.at = at + 1
			return m.in[begin:at], has
		}
	}
	m.at = len(m.in)
	return m.in[begin:], has
}

func (m *jsonMasker) number() {
	begin := m.at
	for m.at < len(m.in) && strings.IndexByte("+-.0123456789eE", m.in[m.at]) >= 0 {
		m.at++
	}
	if m.secrecy() == secretAll {
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
