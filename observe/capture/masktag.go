package capture

import "strings"

// Bounds of what is looked at behind the beginning of a tag and of an element, in bytes, so that the work is linear.
const (
	maxTag     = 1 << 10
	maxElement = 2 << 10
)

// tag masks an element that has the name of a secret, or says such a name in an attribute: <password>…</password>,
// <entry key="password">…</entry>, <input name="csrf_token" value="…">. Of other tags the attributes are left to what follows.
func (m *textMasker) tag() {
	text := m.text[m.at:min(len(m.text), m.at+maxTag)]
	name := tagName(text[1:])
	end := 1 + tagEnds.index(text[1:])
	if name == "" || end == len(text) || text[end] != '>' {
		return
	}
	local := name[strings.LastIndexByte(name, ':')+1:]
	behind := m.at + end + 1
	isSecret := isSecretName(local)
	isNamed := saysSecret(text[1+len(name) : end])
	if !isSecret && !isNamed {
		return
	}
	m.at += 1 + len(name)
	m.attributes(behind - 1)
	m.pass(behind)
	isEmpty := m.text[behind-2] == '/' || name == "input" || name == "meta"
	if !isEmpty {
		m.element(name, isSecret)
	}
}

var tagEnds = newByteSet("<>")

func tagName(text string) string {
	for i := range len(text) {
		if !isNameByte(text[i]) && text[i] != ':' {
			return text[:i]
		}
	}
	return ""
}

// An attribute of a tag stands between begin and end of a text.
type tagAttribute struct {
	name  string
	begin int
	end   int
}

// nextAttribute returns the next attribute with a value in quotes.
func nextAttribute(text string) (a tagAttribute, ok bool) {
	equals := strings.IndexByte(text, '=')
	if equals < 0 {
		return a, false
	}
	a.name = nameBefore(text[:equals])
	rest := strings.TrimLeft(text[equals+1:], " \t\r\n")
	a.begin = len(text) - len(rest)
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		a.end = a.begin
		return a, true
	}
	a.begin++
	n := strings.IndexByte(rest[1:], rest[0])
	if n < 0 {
		return a, false
	}
	a.end = a.begin + n
	return a, true
}

// saysSecret reports whether an attribute says the name of a secret.
func saysSecret(attributes string) bool {
	for {
		a, ok := nextAttribute(attributes)
		if !ok {
			return false
		}
		if isName := a.name == "name" || a.name == "key"; isName && isSecretName(attributes[a.begin:a.end]) {
			return true
		}
		attributes = attributes[a.end:]
	}
}

// attributes masks the attributes of a secret up to the end of its tag: its value, and those that are secrets themselves.
func (m *textMasker) attributes(end int) {
	for m.at < end {
		a, ok := nextAttribute(m.text[m.at:end])
		if !ok {
			return
		}
		begin := m.at + a.begin
		stop := m.at + a.end
		if a.name == "value" || a.name == "content" || isSecretName(a.name) {
			m.replace(begin, stop, maskValue(m.text[begin:stop]))
		}
		m.at = max(stop, m.at+1)
	}
}

// element masks the content that begins here. If the name of the element is that of a secret, it has elements in it too.
func (m *textMasker) element(name string, isSecret bool) {
	text := m.text[m.at:min(len(m.text), m.at+maxElement)]
	const cdata = "<![CDATA["
	begin := 0
	closing := "</" + name
	if strings.HasPrefix(text, cdata) {
		begin = len(cdata)
		closing = "]]>"
	}
	end := strings.Index(text, closing)
	child := strings.IndexByte(text[begin:], '<')
	switch {
	case end < 0 && (text == "" || isSpace(text[0])):
		return // stands for a value, as in "login <user> <password>"
	case end < 0 && child < 0:
		end = len(text)
	case end < 0:
		end = begin + child
	case !isSecret && child >= 0 && begin+child < end:
		return
	}
	content := strings.TrimSpace(text[begin:end])
	begin += strings.Index(text[begin:end], content)
	if content != "" {
		m.replace(m.at+begin, m.at+begin+len(content), maskValue(content))
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// formPart is how the header of a part of multipart/form-data names it.
const formPart = "form-data; name="

// maskMultipart masks the parts of a form that have the names of secrets.
func maskMultipart(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, formPart)
		if at < 0 {
			break
		}
		at += len(formPart)
		name, _, _ := strings.Cut(text[at:min(len(text), at+maxTag)], "\n")
		name, _, _ = strings.Cut(strings.TrimPrefix(name, `"`), `"`)
		line := strings.TrimRight(name, "\r; ")
		begin := bodyOf(text[at:])
		b.WriteString(text[:at])
		text = text[at:]
		if begin < 0 || !isSecretName(line) {
			continue
		}
		end := partEnd(text[begin:])
		b.WriteString(text[:begin])
		b.WriteString(maskValue(text[begin : begin+end]))
		text = text[begin+end:]
	}
	b.WriteString(text)
	return b.String()
}

// bodyOf returns where the header of a part has ended, within its bound, or -1.
func bodyOf(text string) int {
	text = text[:min(len(text), maxTag)]
	for _, blank := range []string{"\r\n\r\n", "\n\n"} {
		if at := strings.Index(text, blank); at >= 0 {
			return at + len(blank)
		}
	}
	return -1
}

// partEnd returns where a part ends: before the next boundary, or with the text.
func partEnd(text string) int {
	end := strings.Index(text, "\n--")
	if end < 0 {
		return len(text)
	}
	if end > 0 && text[end-1] == '\r' {
		end--
	}
	return end
}
