package capture

import "strings"

// MaskQuery returns the text of a query with masks in the place of secrets: literals that belong to a
// column or an option with the name of a secret. Masking a text again changes nothing.
func MaskQuery(text string) string {
	if strings.HasPrefix(text, "{") {
		return string(MaskJSON([]byte(text)))
	}
	m := queryMasker{
		scanner: sqlScanner{text: text},
	}
	for {
		t := m.scanner.next()
		if t.kind == sqlEnd {
			break
		}
		m.add(t)
	}
	if m.written == 0 {
		return m.scanner.text
	}
	m.out.WriteString(m.scanner.text[m.written:])
	return m.out.String()
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

type queryMasker struct {
	scanner sqlScanner
	out     strings.Builder
	written int // of the text

	secret bool // what follows belongs to the name of a secret
	isList bool // and stands in parentheses
	isName bool // an operator has followed, so that quotes are those of a string

	insert  insertState
	columns []bool // whether they are secret
	column  int    // of the value that is next
	depth   int    // of parentheses in the values
}

// add takes the next token.
func (m *queryMasker) add(t sqlToken) {
	isSecret := m.secret || m.isSecretColumn()
	switch {
	case t.kind == sqlLiteral && isSecret:
		m.mask(t)
	case t.kind == sqlQuoted && m.secret && m.isName:
		m.mask(t)
		return
	}
	m.follow(t)
	m.followInsert(t)
}

// isSecretColumn reports whether the next value of an INSERT is for the column of a secret.
func (m *queryMasker) isSecretColumn() bool {
	return m.insert == insertValues && m.depth > 0 && m.column < len(m.columns) && m.columns[m.column]
}

// follow notes to which name the next literal belongs.
func (m *queryMasker) follow(t sqlToken) {
	switch {
	case t.kind == sqlWord && m.secret && isBetweenNameAndValue(t.text):
		m.isName = true
	case t.kind == sqlWord, t.kind == sqlQuoted:
		m.secret = isSecretName(strings.Trim(t.text, "\"`[]"))
		m.isList = false
		m.isName = false
	case t.is("("):
		m.isList = m.secret
	case t.is(","):
		m.secret = m.secret && m.isList
	case t.kind == sqlSymbol && strings.Trim(t.text, "<>=!~:*|") == "":
		m.isName = true
	case t.kind == sqlSymbol:
		m.secret = false
	default:
		m.secret = m.secret && m.isList
	}
}

func isBetweenNameAndValue(word string) bool {
	switch strings.ToLower(word) {
	case "in", "like", "ilike", "is", "not", "any", "all", "by", "binary", "as":
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
	case m.insert == insertColumns && (t.kind == sqlWord || t.kind == sqlQuoted) && len(m.columns) < maxColumns:
		m.columns = append(m.columns, isSecretName(strings.Trim(t.text, "\"`[]")))
	case m.insert == insertNamed && (t.is("values") || t.is("value")):
		m.insert = insertValues
		m.depth = 0
	case m.insert == insertValues:
		m.followValues(t)
	}
}

func (m *queryMasker) followValues(t sqlToken) {
	switch {
	case t.is("("):
		m.depth++
		if m.depth == 1 {
			m.column = 0
		}
	case t.is(")"):
		m.depth--
	case t.is(",") && m.depth == 1:
		m.column++
	case t.kind == sqlWord && m.depth <= 0:
		m.insert = insertNone
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
	m.out.WriteString(text[m.written:begin])
	// Two quotes in a row would stand for one.
	if begin > 0 && (begin == m.written || text[begin-1] == quote[0]) {
		m.out.WriteByte(' ')
	}
	m.out.WriteString(quote + masked + quote)
	if m.scanner.peek(0) == quote[0] {
		m.out.WriteByte(' ')
	}
	m.written = m.scanner.at
}
