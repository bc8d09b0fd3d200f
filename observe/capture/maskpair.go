package capture

import "bytes"

// A role is that of a value in an object that has a name and its value apart: {"name":"password","value":"x"}.
type role uint8

const (
	roleNone role = iota
	roleName
	roleValue
)

// roleOf returns the role of the values of a key.
func roleOf(key []byte) role {
	const longest = len("rejectedvalue")
	if len(key) > longest {
		return roleNone
	}
	var lower [longest]byte
	for i, c := range key {
		if isUpper(c) {
			c |= 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(key)]) {
	case "name", "key", "field", "path", "param", "loc", "property", "id", "label", "type", "variable", "header":
		return roleName
	case "value", "input", "rejectedvalue", "val":
		return roleValue
	}
	return roleNone
}

// An edit replaces what is between begin and end, if there is a text. An edit that an earlier one covers is left out.
type edit struct {
	begin int
	end   int
	text  string
	prev  int // the edit of the value before it in the same object, or -1
}

// A pair is what is known of an object that may have a name and its value: its secrecy, by its name, and the edits of
// its values, which may stand before the name.
type pair struct {
	secret secrecy
	open   int // the edit of the value that has not ended, or -1
	last   int // that of the last value, or -1
}

// replace writes text in the place of what is between begin and end.
func (m *jsonMasker) replace(begin, end int, text string) {
	m.edits = append(m.edits, edit{begin: begin, end: end, text: text})
}

// result applies the edits, which are in the order of their beginnings.
func (m *jsonMasker) result() []byte {
	var out []byte
	written := 0
	for i := range m.edits {
		e := &m.edits[i]
		if e.text == "" || e.begin < written {
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(m.in)+64)
		}
		out = append(out, m.in[written:e.begin]...)
		out = append(out, e.text...)
		written = e.end
	}
	if out == nil {
		return m.in
	}
	return append(out, m.in[written:]...)
}

// key notes what the key says of the value that follows.
func (m *jsonMasker) key(inner []byte) {
	m.secret = secrecyOfKey(inner)
	m.role = roleOf(inner)
	if m.role == roleValue && len(m.pairs) > 0 {
		m.secret = max(m.secret, m.pairs[len(m.pairs)-1].secret)
	}
}

// beginValue keeps a place among the edits for the value that begins here, as its name may follow.
func (m *jsonMasker) beginValue() {
	m.role = roleNone
	if len(m.pairs) == 0 || m.secrecy() == secretAll {
		return
	}
	p := &m.pairs[len(m.pairs)-1]
	m.edits = append(m.edits, edit{begin: m.at, prev: p.last})
	p.open = len(m.edits) - 1
}

// endValue notes where the value ended that is kept a place for.
func (m *jsonMasker) endValue() {
	m.role = roleNone
	if len(m.pairs) == 0 {
		return
	}
	p := &m.pairs[len(m.pairs)-1]
	if p.open < 0 {
		return
	}
	e := &m.edits[p.open]
	e.end = e.begin + len(bytes.TrimRight(m.in[e.begin:m.at], " \t\r\n"))
	p.last = p.open
	p.open = -1
	if p.secret != notSecret {
		m.hideValues(p)
	}
}

// hideValues masks the values before the name.
func (m *jsonMasker) hideValues(p *pair) {
	for at := p.last; at >= 0; at = m.edits[at].prev {
		e := &m.edits[at]
		e.text = maskJSONValue(m.in[e.begin:e.end], p.secret)
	}
	p.last = -1
}

// maskJSONValue returns the mask of a value, as JSON, or nothing: it is none.
func maskJSONValue(value []byte, s secrecy) string {
	if len(value) == 0 {
		return ""
	}
	switch c := value[0]; {
	case c == '"':
		inner := bytes.TrimSuffix(value[1:], []byte{'"'})
		return `"` + maskValue(string(inner)) + `"`
	case c == 't', c == 'f', c == 'n':
		return ""
	case s != secretAll && c != '{' && c != '[':
		return ""
	}
	return `"` + Mask(len(value)) + `"`
}

// isNameNext reports whether the next string may be the name of the values beside it.
func (m *jsonMasker) isNameNext() bool { return m.role == roleName || m.top()&frameNames != 0 }

// name takes the name of the values beside it, and reports whether it is that of a secret.
func (m *jsonMasker) name(inner []byte) bool {
	at := len(m.pairs) - 1
	if m.top()&frameNames != 0 {
		at--
	}
	if at < 0 || m.secrecy() != notSecret {
		return false
	}
	s := secrecyOfLabel(inner)
	if s == notSecret {
		return false
	}
	p := &m.pairs[at]
	p.secret = max(p.secret, s)
	m.hideValues(p)
	return true
}

// secrecyOfLabel is secrecyOfKey for a name that may be written for people: then the secret stands at its end, as in
// "New password", and "Secret Santa" is none.
func secrecyOfLabel(inner []byte) secrecy {
	if len(inner) > longestName {
		return notSecret
	}
	if bytes.IndexByte(inner, ' ') < 0 {
		return secrecyOfKey(inner)
	}
	joined := bytes.ToLower(bytes.ReplaceAll(inner, []byte(" "), nil))
	if endsSecret(joined) {
		return secretAll
	}
	return notSecret
}

// pop ends an object or array.
func (m *jsonMasker) pop() {
	m.endValue()
	m.isKey = false
	m.secret = notSecret
	if len(m.frames) == 0 {
		return
	}
	m.frames = m.frames[:len(m.frames)-1]
	m.pairs = m.pairs[:len(m.pairs)-1]
}
