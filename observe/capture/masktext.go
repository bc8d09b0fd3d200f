package capture

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// MaskText returns the text with masks in the place of secrets: the values of "name=value" and "name: value", quoted
// or not, escaped as in URLs or not, where the name is that of a secret; elements and attributes of XML with such a
// name, and parts of forms; credentials behind their scheme, JSON Web Tokens, and of URLs the passwords and what
// looks like a token in the path. What is JSON as a whole is masked as MaskJSON does. Masking a text again changes nothing.
// The work is linear in the length of the text.
func MaskText(text string) string {
	if masked, ok := maskWhole(text); ok {
		return masked
	}
	if strings.Contains(text, formPart) {
		text = maskMultipart(text)
	}
	text = maskInserts(text)
	m := textMasker{text: text}
	for m.at < len(m.text) {
		m.step()
	}
	return m.result()
}

// maskWhole masks a text that is JSON, as many apps print their logs.
func maskWhole(text string) (masked string, ok bool) {
	if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return text, false
	}
	return string(MaskJSON([]byte(text))), true
}

// A textMasker goes through a text once. What it has masked, or found masked, it does not look at again, so that it
// takes the same steps through what it has written.
type textMasker struct {
	text    string
	at      int
	low     int // names do not begin before
	out     strings.Builder
	written int // of the text
}

func (m *textMasker) result() string {
	if m.written == 0 {
		return m.text
	}
	m.out.WriteString(m.text[m.written:])
	return m.out.String()
}

// replace writes the mask of what is between begin and end, and moves behind it.
func (m *textMasker) replace(begin, end int, masked string) {
	if masked != m.text[begin:end] {
		m.out.WriteString(m.text[m.written:begin])
		m.out.WriteString(masked)
		m.written = end
	}
	m.pass(end)
}

// pass moves behind what is masked already, or need not be.
func (m *textMasker) pass(end int) {
	m.low = end
	m.at = end
}

// A byteSet has the bytes of a string.
type byteSet [256]bool

func newByteSet(bytes string) *byteSet {
	var set byteSet
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return &set
}

// index returns where the first of the bytes stands in the text, or its length.
func (s *byteSet) index(text string) int {
	for i := range len(text) {
		if s[text[i]] {
			return i
		}
	}
	return len(text)
}

// steps are the bytes at which step finds something.
var steps = newByteSet("=:%[<JBb-")

// step masks the next thing that is a secret, or rules one out, and moves on.
func (m *textMasker) step() {
	m.at += steps.index(m.text[m.at:])
	if m.at >= len(m.text) {
		return
	}
	at := m.at
	switch m.text[at] {
	case '=', ':':
		m.separator(at, at+1)
	case '%':
		end := separatorEscape(m.text, at)
		switch {
		case end > 0 && m.escapedAuthority(end):
		case end > 0:
			m.separator(at, end)
		default:
			m.escapedSegment()
		}
	case '[':
		if n := maskLength(m.text[at:]); n > 0 {
			m.pass(at + n)
		}
	case '<':
		m.tag()
	case 'J':
		m.jwt()
	case 'B', 'b':
		m.scheme()
	case '-':
		m.dash()
	}
	if m.at == at {
		m.at++
	}
}

// jwt masks the JSON Web Token in whose beginning the text stands.
func (m *textMasker) jwt() {
	begin := m.at - len("ey")
	if begin < m.low || !m.isWord(begin) {
		return
	}
	if n := jwtLength(m.text[begin:]); n > 0 {
		m.replace(begin, begin+n, maskValue(m.text[begin:begin+n]))
	}
}

// isWord reports whether no letter or digit stands before the position.
func (m *textMasker) isWord(begin int) bool { return begin == m.low || !isAlnum(m.text[begin-1]) }

// separator masks the value behind a separator that stands between begin and end, if there is a name of a secret before.
func (m *textMasker) separator(begin, end int) {
	if strings.HasPrefix(m.text[begin:], "://") {
		m.at = begin + len("://")
		m.url()
		return
	}
	name := nameBefore(m.text[m.low:begin])
	s := secrecyOf(name)
	if s == notSecret {
		return
	}
	v := m.valueAfter(end)
	if v.begin >= len(m.text) {
		return
	}
	isEscaped := end-begin > 1
	switch {
	case v.quote == "" && m.text[begin] == ':' && m.isTestResult(name, v.begin):
		return
	case isEnd(name, "authorization") && !isEscaped:
		m.credentials(v)
		return
	case isEnd(name, "cookie") && !isEscaped && m.text[v.begin] != '[':
		m.cookies(v, isEnd(name, "set-cookie"))
		return
	}
	v.begin += schemeLength(m.text[v.begin:])
	stop := m.valueEnd(v, isEscaped)
	value := m.text[v.begin:stop]
	if v.quote == "" && !s.hides(value) {
		return
	}
	m.replace(v.begin, stop, maskValue(value))
}

// isTestResult reports whether a bare "pass" counts or names tests that passed, and no password follows: "PASS: TestA", and
// "pass: 12 fail: 3". A password with neither around it is one.
func (m *textMasker) isTestResult(name string, begin int) bool {
	if !strings.EqualFold(name, "pass") {
		return false
	}
	const enough = 128
	value := m.text[begin:min(len(m.text), begin+enough)]
	value = value[:lineEnds.index(value)]
	if name == "PASS" {
		return strings.HasPrefix(value, "Test") || strings.HasPrefix(value, "test_") || strings.HasPrefix(value, "test-") || strings.HasPrefix(value, "test/") || strings.HasPrefix(value, "tests/")
	}
	rest := strings.TrimLeft(value, "0123456789")
	next := strings.ToLower(strings.TrimLeft(rest, " \t,;|/"))
	return rest != value && rest != next && (strings.HasPrefix(next, "fail") || strings.HasPrefix(next, "skip") || strings.HasPrefix(next, "total"))
}

func isEnd(name, with string) bool {
	return len(name) >= len(with) && strings.EqualFold(name[len(name)-len(with):], with)
}

// credentials masks what follows Authorization. A scheme that is known stays.
func (m *textMasker) credentials(v textValue) {
	begin := v.begin + schemeLength(m.text[v.begin:])
	// One credential ends where a value does; parameters, as Digest has, with the line, and so does what has no known scheme.
	end := m.valueEnd(textValue{begin: begin, quote: v.quote}, false)
	if begin == v.begin || strings.ContainsAny(m.text[begin:end], "=,") {
		end = m.lineEnd(v)
	}
	m.replace(begin, end, maskValue(m.text[begin:end]))
}

// cookies masks a list of cookies, or the first pair of Set-Cookie.
func (m *textMasker) cookies(v textValue, isSet bool) {
	if v.quote == "" && isProse(m.text[v.begin:]) {
		return
	}
	end := m.lineEnd(v)
	list := m.text[v.begin:end]
	if isSet {
		m.replace(v.begin, end, maskSetCookie(list))
		return
	}
	m.replace(v.begin, end, maskCookies(list))
}

// isProse reports whether the line that the text begins with has words, and nothing that is set.
func isProse(text string) bool {
	const enough = 512
	text = text[:min(len(text), enough)]
	line := text[:lineEnds.index(text)]
	return !strings.Contains(line, "=") && strings.Contains(line, " ")
}

var lineEnds = newByteSet("\r\n\"'`")

// lineEnd returns where a value ends that may have spaces: at its quote, or with the line.
func (m *textMasker) lineEnd(v textValue) int {
	if v.quote != "" {
		return m.valueEnd(v, false)
	}
	return v.begin + lineEnds.index(m.text[v.begin:])
}

// scheme masks the credentials that stand behind a scheme in prose.
func (m *textMasker) scheme() {
	text := m.text[m.at:]
	n := 0
	isBasic := false
	switch {
	case len(text) > 7 && strings.EqualFold(text[:6], "bearer"):
		n = len("bearer")
	case len(text) > 6 && strings.EqualFold(text[:5], "basic"):
		n = len("basic")
		isBasic = true
	}
	if n == 0 || !m.isWord(m.at) {
		return
	}
	begin := n
	for begin < len(text) && begin < n+maxBetween && (text[begin] == ' ' || text[begin] == '+') {
		begin++
	}
	if strings.HasPrefix(text[n:], "%20") {
		begin = n + len("%20")
	}
	end := begin
	for end < len(text) && (isAlnum(text[end]) || strings.IndexByte("-._~+/=", text[end]) >= 0) {
		end++
	}
	credential := strings.TrimRight(text[begin:end], ".")
	if begin == n || credential == "" {
		return
	}
	if isBasic && !isBasicCredential(credential) || !isBasic && isAfterBearer(credential) {
		return
	}
	m.replace(m.at+begin, m.at+begin+len(credential), maskValue(credential))
}

// isBasicCredential reports whether the text is a name and a password in base64. Basic is a word of prose too.
func isBasicCredential(text string) bool {
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && strings.Contains(string(plain), ":")
}

// isAfterBearer knows what follows "bearer" in prose, and in challenges.
func isAfterBearer(word string) bool {
	word, _, _ = strings.Cut(word, "=")
	switch strings.ToLower(word) {
	case "token", "tokens", "auth", "authentication", "authorization", "scheme", "realm", "error", "scope", "format", "header", "headers", "credentials":
		return true
	case "is", "of", "or", "and", "for", "in", "to", "not", "has", "was", "with", "from", "must", "required", "missing", "invalid", "challenge", "type":
		return true
	}
	return false
}

// schemes are those of Authorization that stay. What is none of them may be the secret.
var schemes = []string{
	"Basic", "Bearer", "Token", "Digest", "ApiKey", "Api-Key", "Key", "JWT", "Negotiate", "NTLM", "OAuth", "Hawk", "DPoP", "AWS4-HMAC-SHA256", "SSWS",
	"GenieKey", "SharedKey", "SharedAccessSignature", "Signature", "HMAC",
}

// schemeLength returns the length of the scheme that the text begins with, and of the space behind it.
func schemeLength(text string) int {
	for _, scheme := range schemes {
		n := len(scheme)
		if len(text) <= n || text[n] != ' ' || !strings.EqualFold(text[:n], scheme) {
			continue
		}
		for n < len(text) && text[n] == ' ' {
			n++
		}
		return n
	}
	return 0
}

// maskLength returns the length of the mask that the text begins with, or 0.
func maskLength(text string) int {
	const longest = len(maskBegin) + 20
	if !strings.HasPrefix(text, maskBegin) {
		return 0
	}
	end := strings.IndexByte(text[:min(len(text), longest)], ']')
	if _, ok := MaskedLength(text[:end+1]); !ok {
		return 0
	}
	return end + 1
}

// jwtLength returns the length of the JSON Web Token that the text begins with, or 0.
func jwtLength(text string) int {
	if !strings.HasPrefix(text, "eyJ") {
		return 0
	}
	dots := 0
	end := 0
	for end < len(text) && (isAlnum(text[end]) || strings.IndexByte("-_.=", text[end]) >= 0) {
		if text[end] == '.' {
			dots++
		}
		end++
	}
	token := strings.TrimRight(text[:end], ".")
	if dots < 2 || strings.Count(token, ".") < 1 {
		return 0
	}
	return len(token)
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
