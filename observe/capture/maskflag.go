package capture

import "strings"

// dash masks what a '-' may begin: the value of a flag, or a private key.
func (m *textMasker) dash() {
	text := m.text[m.at:]
	if strings.HasPrefix(text, pemBegin) {
		m.privateKey()
		return
	}
	isFlag := m.at == m.low || strings.IndexByte(" \t\n\"'`[(,", m.text[m.at-1]) >= 0
	if !isFlag {
		return
	}
	name := strings.TrimPrefix(text[1:], "-")
	n := 0
	for n < len(name) && isNameByte(name[n]) && n < longestName {
		n++
	}
	name = name[:n]
	end := m.at + strings.Index(text, name) + n
	isLong := strings.HasPrefix(text, "--")
	switch {
	case isLong && secrecyOf(name) == secretAll:
		m.flag(end, false)
	case name == "u" && !isLong, isLong && (name == "user" || name == "proxy-user"):
		m.flag(end, true)
	}
}

// flag masks the value of a flag whose name has ended, one space or, in a list, a comma before it. Two spaces stand before
// the descriptions of flags. If the value is a user, only what follows its colon is masked.
func (m *textMasker) flag(end int, isUser bool) {
	rest := m.text[end:]
	begin := 0
	if rest != "" && strings.IndexByte("\"'", rest[0]) >= 0 {
		begin = 1 // in a list of arguments
	}
	if begin == 1 && strings.HasPrefix(rest[begin:], ",") {
		begin++
	}
	isSet := isUser && strings.HasPrefix(rest, "=")
	if strings.HasPrefix(rest[begin:], " ") || isSet {
		begin++
	}
	if begin == 0 || begin >= len(rest) {
		return
	}
	v := textValue{begin: end + begin}
	if quote := quoteAt(rest[begin:]); quote != "" {
		v.begin += len(quote)
		v.quote = quote
	}
	stop := m.valueEnd(v, false)
	value := m.text[v.begin:stop]
	if isUser {
		user, password, isPair := strings.Cut(value, ":")
		isIDs := strings.Trim(user, "0123456789") == ""
		if !isPair || isIDs || strings.HasPrefix(password, "//") {
			return
		}
		begin := v.begin + len(user) + 1
		if n := maskLength(m.text[begin:]); n > 0 {
			m.pass(begin + n)
			return
		}
		m.replace(begin, stop, maskValue(password))
		return
	}
	if v.quote == "" && !isArgument(value) {
		return
	}
	m.replace(v.begin, stop, maskValue(value))
}

// isArgument tells the value of a flag from what follows its name in help and prose.
func isArgument(value string) bool {
	if value == "" || strings.IndexByte("-<[{(|", value[0]) >= 0 || value == strings.ToUpper(value) && strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return false
	}
	return !isAfterBearer(strings.TrimRight(value, ".,:;"))
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemKey   = "PRIVATE KEY"
)

// privateKey masks what is between the lines that stand around a private key, or the rest of the text if its end is cut off.
func (m *textMasker) privateKey() {
	const longest = 64
	text := m.text[m.at:]
	line := text[len(pemBegin):min(len(text), longest)]
	dashes := strings.Index(line, "-----")
	if dashes < 0 || !strings.Contains(line[:dashes], pemKey) {
		return
	}
	begin := len(pemBegin) + dashes + len("-----")
	end := strings.Index(text[begin:], pemEnd)
	if end < 0 {
		end = len(text) - begin
	}
	m.replace(m.at+begin, m.at+begin+end, maskValue(text[begin:begin+end]))
}
