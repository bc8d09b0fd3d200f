package capture

import "strings"

// MaskQuery returns the text of a query with masks in the place of secrets. Masking a text again changes nothing.
//
// In a query that names a secret column or option, all strings are secrets but those that are told to be of another
// column. What only a SELECT returns does not count: its values are in no query.
func MaskQuery(text string) string {
	masked, _ := maskQuery(text)
	return masked
}

// maskQuery is MaskQuery, and reports whether parameters of the query may be secrets.
func maskQuery(text string) (masked string, hasSecret bool) {
	if strings.HasPrefix(text, "{") {
		json := jsonMasker{in: []byte(text)}
		masked := string(json.mask())
		if !json.foreign {
			return masked, false
		}
		text = masked
	}
	if masked, ok := maskCommand(text); ok {
		return masked, masked != text
	}
	m := queryMasker{
		scanner:   sqlScanner{text: text},
		hasSecret: namesSecret(text),
	}
	for {
		gap := m.scanner.at
		t := m.scanner.next()
		m.comments(gap, m.scanner.at-len(t.text))
		if t.kind == sqlEnd {
			break
		}
		m.add(t)
	}
	m.out.WriteString(text[m.written:])
	return m.out.String(), m.hasSecret
}

// namesSecret reports whether the query names a secret, other than among what it returns.
func namesSecret(text string) bool {
	s := sqlScanner{text: text}
	// Of each SELECT whose list has not ended: whether it names a secret, and whether it has a parameter or a string.
	isList := false
	var named, valued bool
	for {
		t := s.next()
		switch {
		case t.kind == sqlEnd:
			return named && valued
		case t.is("select"):
			isList = true
		case t.is("from"), t.is("into"), t.is("values"):
			isList = false
		case isQueryName(t) && secrecyOfQuery(unquoted(t)) == secretAll:
			if !isList || s.isCall() {
				return true
			}
			named = true
		case t.kind == sqlPlaceholder, t.kind == sqlLiteral:
			valued = valued || isList
		}
	}
}

// isQueryName reports whether the token may be a name.
func isQueryName(t sqlToken) bool { return t.kind == sqlWord || t.kind == sqlQuoted }

// unquoted returns a name without its quotes.
func unquoted(t sqlToken) string { return strings.Trim(t.text, "\"`[]") }

// isCall reports whether a parenthesis follows.
func (s *sqlScanner) isCall() bool {
	return strings.HasPrefix(strings.TrimLeft(s.text[s.at:], " \t\r\n"), "(")
}

// secrecyOfQuery knows options and functions of databases too whose values are secrets.
func secrecyOfQuery(name string) secrecy {
	switch strings.ToLower(name) {
	case "identified", "crypt", "encrypt", "aes_encrypt", "aes_decrypt", "pgp_sym_encrypt", "pgp_sym_decrypt", "hmac", "requirepass", "masterauth":
		return secretAll
	}
	return secrecyOf(name)
}

// maxColumns is how many columns of an INSERT are looked at.
const maxColumns = 500

// An insertState is how far an INSERT has been read.
type insertState uint8

const (
	insertNone    insertState = iota
	insertTable               // behind INTO
	insertColumns             // in the list of columns
	insertNamed               // behind it
	insertValues              // behind VALUES
)

// An ownerKind says to what the next literal belongs.
type ownerKind uint8

const (
	ownerUnknown ownerKind = iota
	ownerSecret
	ownerPlain // a name that is not that of a secret
)

type queryMasker struct {
	scanner   sqlScanner
	out       strings.Builder
	written   int  // of the text
	hasSecret bool // the query names a secret

	owner      ownerKind
	ownerName  string
	ownerDepth int  // of the parentheses in which it was named
	isCompared bool // an operator has followed, so that quotes are those of a string
	depth      int

	insert      insertState
	columns     []secrecy
	column      int // of the value that is next
	valuesDepth int // of the parentheses behind VALUES
}

// comments masks what stands between two tokens.
func (m *queryMasker) comments(begin, end int) {
	const shortest = len("--pw=x")
	if end-begin < shortest {
		return
	}
	gap := m.scanner.text[begin:end]
	m.replace(begin, end, MaskText(gap))
}

// add takes the next token.
func (m *queryMasker) add(t sqlToken) {
	isString := t.kind == sqlQuoted && t.text[0] == '"' && (m.isCompared || m.inRow())
	switch {
	case t.kind == sqlLiteral || isString:
		if m.isSecret(t) {
			m.mask(t)
		} else {
			m.nested(t)
		}
	case t.kind == sqlWord && strings.EqualFold(m.ownerName, "identified") && m.isCompared && !m.scanner.isCall() && !isBetweenNameAndValue(t.text) && !isSecretName(t.text):
		m.mask(t) // Oracle needs no quotes
		m.setOwner(ownerUnknown, "")
	default:
		m.follow(t)
	}
	m.followInsert(t)
}

// inRow reports whether the next value is for a column of an INSERT that is known.
func (m *queryMasker) inRow() bool {
	return m.insert == insertValues && m.valuesDepth > 0 && m.column < len(m.columns)
}

// isSecret reports whether the literal is a secret.
func (m *queryMasker) isSecret(t sqlToken) bool {
	isNumber := isDigit(t.text[0]) || t.text[0] == '.'
	switch {
	case m.inRow() && m.owner != ownerSecret:
		s := m.columns[m.column]
		return s == secretAll || s == secretText && !isNumber
	case m.owner == ownerSecret:
		return !isNumber || secrecyOf(m.ownerName) != secretText
	case m.owner == ownerPlain:
		return false
	}
	return m.hasSecret && !isNumber
}

func (m *queryMasker) setOwner(kind ownerKind, name string) {
	m.owner = kind
	m.ownerName = name
	m.ownerDepth = m.depth
	m.isCompared = false
}

// follow notes to what the next literal belongs.
func (m *queryMasker) follow(t sqlToken) {
	switch {
	case isQueryName(t) && secrecyOfQuery(unquoted(t)) != notSecret:
		m.setOwner(ownerSecret, unquoted(t))
		m.isCompared = m.scanner.isCall()
	case t.kind == sqlWord && isBetweenNameAndValue(t.text):
		m.isCompared = m.owner != ownerUnknown
	case t.kind == sqlWord && m.isCompared && m.scanner.isCall():
		// A function of the value.
	case t.kind == sqlWord && isClause(t.text):
		m.setOwner(ownerUnknown, "")
	case isQueryName(t):
		m.setOwner(ownerPlain, "")
	case t.is("("):
		m.depth++
	case t.is(")"):
		m.depth--
		m.ownerDepth = min(m.ownerDepth, m.depth)
	case t.is(",") && m.depth <= m.ownerDepth, t.is(";"):
		m.setOwner(ownerUnknown, "")
	case t.kind == sqlSymbol && strings.Trim(t.text, "<>=!~:|") == "":
		m.isCompared = m.owner != ownerUnknown
	}
}

func isBetweenNameAndValue(word string) bool {
	switch strings.ToLower(word) {
	case "in", "like", "ilike", "is", "not", "any", "all", "by", "binary", "as", "to", "for", "with", "using":
		return true
	}
	return false
}

// isClause reports whether the word begins something else, so that no name stands before the next literal.
func isClause(word string) bool {
	switch strings.ToLower(word) {
	case "and", "or", "where", "select", "from", "set", "having", "on", "when", "then", "else", "case", "values", "union", "returning", "join", "end":
		return true
	}
	return false
}

// followInsert notes for which column the next literal is.
func (m *queryMasker) followInsert(t sqlToken) {
	switch {
	case t.is("into"):
		m.insert = insertTable
		m.columns = m.columns[:0]
	case m.insert == insertTable && t.is("("):
		m.insert = insertColumns
	case m.insert == insertColumns && t.is(")"):
		m.insert = insertNamed
	case m.insert == insertColumns && isQueryName(t) && len(m.columns) < maxColumns:
		m.columns = append(m.columns, secrecyOf(unquoted(t)))
	case m.insert == insertNamed && (t.is("values") || t.is("value")):
		m.insert = insertValues
		m.valuesDepth = 0
	case m.insert == insertNamed && t.is("select"):
		m.insert = insertNone
	case m.insert == insertValues:
		m.followValues(t)
	}
}

func (m *queryMasker) followValues(t sqlToken) {
	switch {
	case t.is("("):
		m.valuesDepth++
		if m.valuesDepth == 1 {
			m.column = 0
			m.setOwner(ownerUnknown, "")
		}
	case t.is(")"):
		m.valuesDepth--
	case t.is(",") && m.valuesDepth == 1:
		m.column++
		m.setOwner(ownerUnknown, "")
	case t.kind == sqlWord && m.valuesDepth <= 0:
		m.insert = insertNone
	}
}

// nested masks secrets in a literal that is none itself, such as JSON.
func (m *queryMasker) nested(t sqlToken) {
	const shortest = len("'pw=x'")
	if len(t.text) >= shortest {
		m.replace(m.scanner.at-len(t.text), m.scanner.at, MaskText(t.text))
	}
}

// mask writes a literal's mask.
func (m *queryMasker) mask(t sqlToken) {
	value := t.text
	quote := "'"
	if t.kind == sqlQuoted {
		quote = t.text[:1]
	}
	if at := strings.Index(value, quote); at >= 0 {
		value = strings.TrimSuffix(value[at+1:], quote)
	}
	masked := maskValue(value)
	if masked == value {
		return
	}
	text := m.scanner.text
	begin := m.scanner.at - len(t.text)
	masked = quote + masked + quote
	// Two quotes in a row would stand for one.
	if begin > 0 && (begin == m.written || text[begin-1] == quote[0]) {
		masked = " " + masked
	}
	if m.scanner.peek(0) == quote[0] {
		masked += " "
	}
	m.replace(begin, m.scanner.at, masked)
}

// replace writes masked text in the place of what is between begin and end.
func (m *queryMasker) replace(begin, end int, masked string) {
	text := m.scanner.text
	if masked == text[begin:end] {
		return
	}
	m.out.WriteString(text[m.written:begin])
	m.out.WriteString(masked)
	m.written = end
}
