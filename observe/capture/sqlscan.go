package capture

import "strings"

// A sqlKind is what a sqlToken is.
type sqlKind uint8

const (
	sqlEnd         sqlKind = iota
	sqlWord                // a keyword or a name without quotes
	sqlQuoted              // a name in quotes
	sqlLiteral             // a string or a number
	sqlPlaceholder         // stands for a parameter
	sqlSymbol
)

type sqlToken struct {
	kind sqlKind
	text string
}

// is reports whether the token is the word or symbol, which is in lowercase.
func (t sqlToken) is(text string) bool {
	return (t.kind == sqlWord || t.kind == sqlSymbol) && strings.EqualFold(t.text, text)
}

// A sqlScanner splits SQL of any dialect into tokens. It takes any text, and never fails.
type sqlScanner struct {
	text   string
	at     int
	isJSON bool // so that a colon stands for no parameter
}

// next returns the next token, which is of the kind sqlEnd behind the last one.
func (s *sqlScanner) next() sqlToken {
	s.skipSpace()
	begin := s.at
	if begin >= len(s.text) {
		return sqlToken{}
	}
	kind := s.token()
	if s.at == begin {
		s.at++
	}
	s.at = min(s.at, len(s.text))
	return sqlToken{kind: kind, text: s.text[begin:s.at]}
}

func (s *sqlScanner) peek(ahead int) byte {
	if s.at+ahead >= len(s.text) {
		return 0
	}
	return s.text[s.at+ahead]
}

// skipSpace moves behind white space and comments.
func (s *sqlScanner) skipSpace() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == ' ', c == '\t', c == '\n', c == '\r', c == '\f', c == '\v':
			s.at++
		case c == '-' && s.peek(1) == '-':
			s.skipLine()
		case c == '#' && s.peek(1) == ' ' && (s.at == 0 || s.text[s.at-1] == '\n'):
			s.skipLine()
		case c == '/' && s.peek(1) == '*':
			s.skipComment()
		default:
			return
		}
	}
}

func (s *sqlScanner) skipLine() {
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		s.at = len(s.text)
		return
	}
	s.at += end + 1
}

// skipComment moves behind a comment, which may have others in it.
func (s *sqlScanner) skipComment() {
	depth := 0
	for s.at < len(s.text) {
		switch {
		case s.text[s.at] == '/' && s.peek(1) == '*':
			depth++
			s.at += 2
		case s.text[s.at] == '*' && s.peek(1) == '/':
			depth--
			s.at += 2
		default:
			s.at++
		}
		if depth == 0 {
			return
		}
	}
}

func isWordByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// token moves behind the token that begins here.
func (s *sqlScanner) token() sqlKind {
	c := s.text[s.at]
	switch {
	case c == '\'':
		s.quoted('\'', false)
		return sqlLiteral
	case c == '"', c == '`':
		s.quoted(c, false)
		return sqlQuoted
	case isDigit(c), c == '.' && isDigit(s.peek(1)):
		s.number()
		return sqlLiteral
	case c == '?':
		s.at++
		s.word()
		return sqlPlaceholder
	case c == '$':
		return s.dollar()
	case c == ':' && s.peek(1) == ':':
		s.at += 2
		return sqlSymbol
	case (c == ':' && !s.isJSON || c == '@') && isWordByte(s.peek(1)):
		s.at++
		s.word()
		return sqlPlaceholder
	case c == '%' && s.peek(1) == 's':
		s.at += 2
		return sqlPlaceholder
	case c == '%' && s.peek(1) == '(':
		return s.pythonParameter()
	case c == '[' && isLetter(s.peek(1)):
		return s.bracketed()
	case isWordByte(c):
		return s.wordOrPrefix()
	}
	s.symbol()
	return sqlSymbol
}

// quoted moves behind a text in quotes, in which a doubled quote stands for one.
func (s *sqlScanner) quoted(quote byte, backslash bool) {
	s.at++
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\' && (backslash || s.peek(1) == quote && s.peek(2) != 0):
			s.at++
		case c == quote && s.peek(1) == quote:
			s.at++
		case c == quote:
			s.at++
			return
		}
		s.at++
	}
}

func (s *sqlScanner) word() {
	for s.at < len(s.text) && isWordByte(s.text[s.at]) {
		s.at++
	}
}

// wordOrPrefix moves behind a word, or behind a string with a letter before it, such as E'…' or X'…'.
func (s *sqlScanner) wordOrPrefix() sqlKind {
	c := s.text[s.at]
	if s.peek(1) == '\'' && strings.IndexByte("eEnNxXbBrR", c) >= 0 {
		s.at++
		s.quoted('\'', c == 'e' || c == 'E')
		return sqlLiteral
	}
	s.word()
	return sqlWord
}

func (s *sqlScanner) number() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		isExponent := (c == '+' || c == '-') && (s.text[s.at-1] == 'e' || s.text[s.at-1] == 'E')
		if !isDigit(c) && !isLetter(c) && c != '.' && c != '_' && !isExponent {
			return
		}
		s.at++
	}
}

// dollar moves behind a parameter as $1, or a string as $tag$…$tag$.
func (s *sqlScanner) dollar() sqlKind {
	if isDigit(s.peek(1)) {
		s.at++
		s.word()
		return sqlPlaceholder
	}
	end := strings.IndexByte(s.text[s.at+1:], '$')
	if end >= 0 && isTag(s.text[s.at+1:s.at+1+end]) {
		tag := s.text[s.at : s.at+end+2]
		s.at += len(tag)
		closing := strings.Index(s.text[s.at:], tag)
		if closing < 0 {
			s.at = len(s.text)
		} else {
			s.at += closing + len(tag)
		}
		return sqlLiteral
	}
	s.at++
	s.word()
	return sqlPlaceholder
}

func isTag(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return false
		}
	}
	return true
}

// pythonParameter moves behind %(name)s.
func (s *sqlScanner) pythonParameter() sqlKind {
	const longest = 128
	end := strings.Index(s.text[s.at:min(len(s.text), s.at+longest)], ")s")
	if end < 0 {
		s.at++
		return sqlSymbol
	}
	s.at += end + 2
	return sqlPlaceholder
}

// bracketed moves behind a name as [dbo].
func (s *sqlScanner) bracketed() sqlKind {
	end := strings.IndexAny(s.text[s.at:], "],'\n")
	if end < 0 || s.text[s.at+end] != ']' {
		s.at++
		return sqlSymbol
	}
	s.at += end + 1
	return sqlQuoted
}

// symbol moves behind an operator, or behind one byte.
func (s *sqlScanner) symbol() {
	const operators = "<>=!|&~^"
	begin := s.at
	for s.at < len(s.text) && strings.IndexByte(operators, s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at == begin {
		s.at++
	}
}
