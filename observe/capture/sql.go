package capture

import (
	"bytes"
	"strings"
)

// Shape returns what a query does, whatever the values: the text in lowercase with "?" in the place
// of literals and placeholders, without comments, and with lists of values shortened to one. Names in
// quotes stay as they are. Literals says whether the text itself had values.
func Shape(text string) (shape string, literals bool) {
	w := shapeWriter{
		scanner: sqlScanner{text: text},
		out:     make([]byte, 0, len(text)+16),
	}
	w.scanner.isJSON = strings.HasPrefix(text, "{")
	for {
		t := w.scanner.next()
		if t.kind == sqlEnd {
			break
		}
		w.add(t)
	}
	return strings.TrimSuffix(string(w.out), ";"), w.literals
}

// IsComplete reports whether the text of a query that reads has all its values, so that the same text is the same
// query. Instrumentations leave placeholders where they do not tell values.
func IsComplete(text string) bool {
	scanner := sqlScanner{text: text}
	first := scanner.next()
	isRead := first.kind == sqlWord && (strings.EqualFold(first.text, "select") || strings.EqualFold(first.text, "with"))
	if !isRead || len(text) >= MaxText {
		return false
	}
	for {
		switch scanner.next().kind {
		case sqlEnd:
			return true
		case sqlPlaceholder:
			return false
		}
	}
}

// A shapeWriter writes the tokens of a query.
type shapeWriter struct {
	scanner  sqlScanner
	out      []byte
	last     sqlToken
	literals bool
	pairs    int  // of JSON, whose value has come
	inValues bool // a value was written last
	comma    bool // a comma behind a value waits for what follows
}

// add writes a token.
func (w *shapeWriter) add(t sqlToken) {
	switch {
	case t.kind == sqlLiteral, w.isJSONValue(t):
		w.literals = true
		w.value()
	case t.kind == sqlPlaceholder:
		w.value()
	default:
		w.plain(t)
	}
}

// isJSONValue reports whether the token is a string in a query of a document database, which is JSON.
// The first one names the collection, and stays.
func (w *shapeWriter) isJSONValue(t sqlToken) bool {
	if !w.scanner.isJSON || t.kind != sqlQuoted || !w.last.is(":") {
		return false
	}
	w.pairs++
	return w.pairs > 1
}

// value writes a literal or placeholder.
func (w *shapeWriter) value() {
	if w.comma {
		// Of a list one value stays.
		w.comma = false
		return
	}
	w.space("?")
	w.out = append(w.out, '?')
	w.inValues = true
	w.last = sqlToken{kind: sqlPlaceholder, text: "?"}
}

// plain writes what is no value.
func (w *shapeWriter) plain(t sqlToken) {
	isSign := (t.is("-") || t.is("+")) && w.beforeValue() && isDigit(w.scanner.peek(0))
	if isSign {
		return
	}
	if t.is(",") && w.inValues && !w.comma {
		w.comma = true
		return
	}
	if w.comma {
		w.comma = false
		w.out = append(w.out, ',')
		w.last = sqlToken{kind: sqlSymbol, text: ","}
	}
	w.inValues = false
	text := t.text
	if t.kind == sqlWord {
		text = strings.ToLower(text)
	}
	w.space(text)
	w.out = append(w.out, text...)
	w.last = t
	if t.is(")") {
		w.endRow()
	}
}

// endRow leaves out the second and later rows of a list of rows of values.
func (w *shapeWriter) endRow() {
	const row = "(?)"
	const rows = row + ", " + row
	if bytes.HasSuffix(w.out, []byte(rows)) {
		w.out = w.out[:len(w.out)-len(rows)+len(row)]
	}
}

// beforeValue reports whether a sign belongs to the number that follows.
func (w *shapeWriter) beforeValue() bool {
	switch w.last.kind {
	case sqlSymbol:
		return !w.last.is(")") && !w.last.is("]")
	case sqlWord:
		switch strings.ToLower(w.last.text) {
		case "limit", "offset", "and", "or", "in", "between", "then", "else", "when", "select", "return", "by", "like", "not":
			return true
		}
	}
	return false
}

// space writes the space before a token, where one belongs.
func (w *shapeWriter) space(text string) {
	switch {
	case w.last.kind == sqlEnd, text == ",", text == ")", text == ".", text == ";", text == "::":
		return
	case w.last.is("("), w.last.is("."), w.last.is("::"):
		return
	case text == "(" && w.last.kind == sqlWord && !spaced(w.last.text):
		return
	}
	w.out = append(w.out, ' ')
}

// spaced reports whether a space belongs between the word and a parenthesis, as after keywords.
func spaced(word string) bool {
	switch strings.ToLower(word) {
	case "in", "values", "and", "or", "from", "where", "select", "as", "exists", "any", "all", "on", "not", "using", "join", "over", "set", "union":
		return true
	}
	return false
}

// maxTable is how long the name of a table becomes, in bytes.
const maxTable = 128

// Table returns the first table that the query reads or writes, without quotes and with its schema
// if the query says it, or "".
func Table(text string) string {
	s := sqlScanner{text: text}
	// reads says, for each parenthesis that is open, whether a statement stands in it, so that FROM names a table.
	reads := []bool{false}
	for {
		t := s.next()
		switch {
		case t.kind == sqlEnd:
			return ""
		case t.is("("):
			if len(reads) > maxTable {
				return ""
			}
			reads = append(reads, false)
		case t.is(")") && len(reads) > 1:
			reads = reads[:len(reads)-1]
		case t.is("select"), t.is("delete"):
			reads[len(reads)-1] = true
		case t.is("into"), t.is("update"), t.is("join"), t.is("table"), t.is("from") && reads[len(reads)-1]:
			if name := s.name(); name != "" {
				return name
			}
		}
	}
}

// name returns the name of a table, if one follows.
func (s *sqlScanner) name() string {
	var b strings.Builder
	for {
		before := s.at
		t := s.next()
		switch {
		case t.kind == sqlQuoted && b.Len() < maxTable:
			b.WriteString(strings.Trim(t.text, "\"`[]"))
		case t.kind == sqlWord && b.Len() == 0 && isBeforeTable(t.text):
			continue
		case t.kind == sqlWord && b.Len() < maxTable && !t.is("select"):
			b.WriteString(strings.ToLower(t.text))
		default:
			s.at = before
			return ""
		}
		before = s.at
		if dot := s.next(); !dot.is(".") {
			s.at = before
			return b.String()
		}
		b.WriteByte('.')
	}
}

// isBeforeTable reports whether the word may stand between a keyword and the table.
func isBeforeTable(word string) bool {
	switch strings.ToLower(word) {
	case "only", "lateral", "if", "exists", "not", "ignore", "low_priority", "of":
		return true
	}
	return false
}
