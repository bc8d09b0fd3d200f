package capture

import "strings"

// MaskURL returns the URL, absolute or not, with masks in the place of its password, of what looks like a token in its
// path, and of the values of secret parameters, in the path, the query and the fragment. It need not be a correct URL.
func MaskURL(address string) string {
	path := address
	query := ""
	begin := strings.IndexAny(address, "?#")
	if begin >= 0 {
		path = address[:begin]
		query = address[begin:]
	}
	m := textMasker{text: path}
	if scheme := strings.Index(path, "://"); scheme >= 0 {
		m.at = scheme + len("://")
		m.authority()
	}
	m.path()
	path = MaskText(m.result())
	if query == "" {
		return path
	}
	return path + query[:1] + maskForm(query[1:], "&#")
}

// The bytes at which the parts of a URL in a text end.
var (
	authorityEnds = newByteSet("/?#" + urlEnds)
	segmentEnds   = newByteSet("/?#&=;" + urlEnds)
)

const urlEnds = " \t\r\n\"'<>`\\"

// url masks the password and the path of the URL behind whose scheme the text stands.
func (m *textMasker) url() {
	m.authority()
	m.path()
}

// authority masks the password of a URL, and moves to its path.
func (m *textMasker) authority() {
	begin := m.at
	rest := m.text[begin:]
	authority := rest[:authorityEnds.index(rest)]
	user := strings.LastIndexByte(authority, '@')
	colon := strings.IndexByte(authority, ':')
	switch {
	case colon >= 0 && colon < user:
		m.replace(begin+colon+1, begin+user, maskValue(authority[colon+1:user]))
	case user >= 0 && isToken(authority[:user]):
		m.replace(begin, begin+user, maskValue(authority[:user]))
	}
	m.at = begin + len(authority)
}

// escapedAuthority masks the password of a URL that is escaped, behind its scheme and colon, and reports whether it has one.
func (m *textMasker) escapedAuthority(begin int) bool {
	const slashes = "%2F%2F"
	rest := m.text[begin:]
	if len(rest) < len(slashes) || !strings.EqualFold(rest[:len(slashes)], slashes) {
		return false
	}
	begin += len(slashes)
	rest = rest[len(slashes):]
	colon := -1
	user := -1
	for i := 0; i+2 < len(rest) && !authorityEnds[rest[i]]; i++ {
		escape := strings.ToUpper(rest[i : i+3])
		switch {
		case escape == "%2F":
			rest = ""
		case escape == "%3A" && colon < 0:
			colon = i + len("%3A")
		case escape == "%40" && colon >= 0:
			user = i
		}
	}
	if user < 0 {
		return false
	}
	m.replace(begin+colon, begin+user, maskValue(m.text[begin+colon:begin+user]))
	return true
}

// escapedSegment masks the segment behind an escaped slash, if it looks like a token, as in ?redirect=%2Freset%2F….
func (m *textMasker) escapedSegment() {
	for _, slash := range []string{"%2F", "%2f", "%252F", "%252f"} {
		if !strings.HasPrefix(m.text[m.at:], slash) {
			continue
		}
		begin := m.at + len(slash)
		end := begin
		for end < len(m.text) && m.text[end] != '%' && !segmentEnds[m.text[end]] {
			end++
		}
		segment := strings.TrimRight(m.text[begin:end], ".,:)]}!*")
		if isToken(segment) {
			m.replace(begin, begin+len(segment), maskValue(segment))
		}
		return
	}
}

// path masks the segments of the path that begins here which look like tokens, and moves to its end.
func (m *textMasker) path() {
	for m.at < len(m.text) && m.text[m.at] == '/' {
		begin := m.at + 1
		end := begin + segmentEnds.index(m.text[begin:])
		segment := strings.TrimRight(m.text[begin:end], ".,:)]}!*")
		if isToken(segment) {
			m.replace(begin, begin+len(segment), maskValue(segment))
		}
		m.at = end
	}
}

// isToken reports whether a segment of a path lets somebody in: a JSON Web Token, or text that looks random and is longer
// than ids are.
func isToken(segment string) bool {
	const longestID = 24
	const shortestHex = 32
	const longestPlainID = 26 // ULIDs, in letters of one case
	n := len(segment)
	if n <= longestID || isUUID(segment[:min(n, uuidLength)]) {
		return false
	}
	if jwtLength(segment) == n {
		return true
	}
	var lower, upper, digits, hexes, changes, dashes, singles int
	before := byte(0)
	for i := range n {
		if isHex(segment[i]) {
			hexes++
		}
		var kind byte
		switch c := segment[i]; {
		case '0' <= c && c <= '9':
			kind = '0'
			digits++
		case 'a' <= c && c <= 'z':
			kind = 'a'
			lower++
		case 'A' <= c && c <= 'Z':
			kind = 'A'
			upper++
		default:
			dashes++
			continue
		}
		if kind == 'a' && i > 0 && i+1 < n && isUpper(segment[i-1]) && isUpper(segment[i+1]) {
			singles++
		}
		isWord := before == 'A' && kind == 'a'
		if before != 0 && kind != before && !isWord {
			changes++
		}
		before = kind
	}
	if n <= longestPlainID && (lower == 0 || upper == 0) {
		return false
	}
	if hexes == n && n >= shortestHex && digits < n {
		return true
	}
	const slugDash = 8 // slugs have a dash in as many bytes at least
	if isSlug := (upper == 0 || lower == 0) && dashes*slugDash > n; isSlug {
		return false
	}
	// Words change rarely between small letters, capitals and digits, have few capitals, and no small letter alone between them.
	return digits >= 2 && changes*5 >= n || upper*3 >= n && lower*5 >= n && singles >= 2
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// maskForm masks the secrets of a query or a form. The value of a secret ends at one of the bytes of ends only, that of another
// parameter also where some write the next one.
func maskForm(form, ends string) string {
	var b strings.Builder
	for form != "" {
		end := strings.IndexAny(form, "&;#?")
		if end < 0 {
			end = len(form)
		}
		name, value, hasValue := strings.Cut(form[:end], "=")
		if hasValue && secrecyOf(unescape(name)).hides(value) {
			end = strings.IndexAny(form, ends)
			if end < 0 {
				end = len(form)
			}
			b.WriteString(form[:len(name)+1])
			b.WriteString(maskValue(form[len(name)+1 : end]))
		} else {
			b.WriteString(MaskText(form[:end]))
		}
		if end < len(form) {
			b.WriteByte(form[end])
			end++
		}
		form = form[end:]
	}
	return b.String()
}

// unescape returns what a part of a query means. What is no correct escape stays.
func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	plain := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = hexValue(s[i+1])<<4 | hexValue(s[i+2])
			i += 2
		}
		plain = append(plain, c)
	}
	return string(plain)
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | ('a' - 'A')) - 'a' + 10
}
