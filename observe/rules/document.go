package rules

import (
	"bytes"
	"encoding/json"
	"strings"

	"bareclaw/observe/capture"
)

// A document is the JSON of a body, down to documentDepth and with the first PIIScanArrayLimit items of
// each array. It is parsed when a rule first asks for it.
//
// Objects are map[string]any, arrays []any, strings string, and null is nil; what rules do not look
// at is other.
type document struct {
	read  bool
	value any
}

// other stands for a number, a boolean, or what is too deep.
type other struct{}

// parse returns the value of the body, or nil if it is not JSON or not known whole.
func (d *document) parse(m *capture.Message) any {
	if d.read {
		return d.value
	}
	d.read = true
	if m.Cut || len(m.Body) > capture.MaxBody || !capture.MayBeJSON(m.Media, m.Body) {
		return nil
	}
	p := jsonParser{text: m.Body}
	value, ok := p.value(documentDepth)
	p.space()
	if ok && p.at == len(p.text) {
		d.value = value
	}
	return d.value
}

func isJSON(media string) bool {
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}

// A jsonParser reads JSON. What it leaves out, it does not check.
type jsonParser struct {
	text []byte
	at   int
}

// next returns the next byte that is no space, or 0 at the end.
func (p *jsonParser) next() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *jsonParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take moves behind the next byte if it is c.
func (p *jsonParser) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

func (p *jsonParser) value(depth int) (value any, ok bool) {
	switch c := p.next(); {
	case c == '"':
		return p.str()
	case (c == '{' || c == '[') && depth == 0:
		return other{}, p.skip()
	case c == '{':
		return p.object(depth - 1)
	case c == '[':
		return p.array(depth - 1)
	case strings.IndexByte("-0123456789tfn", c) < 0:
		return nil, false
	}
	begin := p.at
	ok = p.skip()
	if string(p.text[begin:p.at]) == "null" {
		return nil, ok
	}
	return other{}, ok
}

func (p *jsonParser) object(depth int) (value map[string]any, ok bool) {
	p.at++
	value = make(map[string]any)
	if p.take('}') {
		return value, true
	}
	for p.next() == '"' {
		key, closed := p.str()
		if !closed || !p.take(':') {
			return nil, false
		}
		value[key], ok = p.value(depth)
		if !ok || p.take('}') {
			return value, ok
		}
		if !p.take(',') {
			return nil, false
		}
	}
	return nil, false
}

func (p *jsonParser) array(depth int) (items []any, ok bool) {
	p.at++
	items = []any{}
	if p.take(']') {
		return items, true
	}
	for {
		if len(items) < PIIScanArrayLimit {
			var item any
			item, ok = p.value(depth)
			items = append(items, item)
		} else {
			ok = p.skip()
		}
		if !ok || p.take(']') {
			return items, ok
		}
		if !p.take(',') {
			return nil, false
		}
	}
}

// str returns the string that begins here.
func (p *jsonParser) str() (value string, ok bool) {
	begin := p.at
	if !p.skip() {
		return "", false
	}
	quoted := p.text[begin:p.at]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	return value, json.Unmarshal(quoted, &value) == nil
}

// skip moves behind the value that begins here, however deep it is.
func (p *jsonParser) skip() bool {
	depth := 0
	p.space()
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case '{', '[':
			depth++
			p.at++
		case '}', ']':
			if depth == 0 {
				return false
			}
			depth--
			p.at++
		case ',', ':':
			if depth == 0 {
				return false
			}
			p.at++
		case '"':
			if !p.skipString() {
				return false
			}
		default:
			p.skipScalar()
		}
		if depth == 0 {
			return true
		}
		p.space()
	}
	return false
}

func (p *jsonParser) skipString() bool {
	for p.at++; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return true
		}
	}
	p.at = len(p.text)
	return false
}

func (p *jsonParser) skipScalar() {
	for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:\"[]{}"), p.text[p.at]) < 0 {
		p.at++
	}
}
