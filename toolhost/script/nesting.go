package script

import (
	"bytes"
	"fmt"
)

// The parser of esbuild goes one call deeper for each bracket, operator and statement inside of another one, has
// no bound, and would end the process.
const (
	// maxNesting is how deep the brackets of a file may be nested.
	maxNesting = 1000
	// maxChain is how many operators, and keywords that take what follows, may stand inside of each other. People
	// and models write some dozens.
	maxChain = 5000
	// statement is how many operators a statement inside of another one counts for, and a function likewise: each
	// costs the more, the deeper it is.
	statement = 10
)

// checkNesting returns an *Error if the source is nested so deep that the parser would end the process.
func checkNesting(file string, source []byte) error {
	n := nesting{source: source, levels: make([]level, 1, 32)}
	for n.at < len(source) && n.fault == "" {
		n.next()
	}
	if n.fault == "" {
		return nil
	}
	line, column := positionOf(string(source), min(n.at, len(source)))
	return &Error{file, line, column, n.fault}
}

// A nesting reads a file token by token, and counts what is inside of each other. It need not be exact: what it
// takes for something else is counted once too often or not at all.
type nesting struct {
	source  []byte
	at      int
	operand bool // the last token ends an operand, so that / divides and ( calls
	levels  []level
	chain   int    // of all levels
	fault   string // why the file is refused
}

// A level is what is inside of a bracket, and outside of all other brackets there.
type level struct {
	chain    int  // since the last ; or ,
	elses    int  // of the chain, which go on after a ;
	template bool // ${ has begun it
}

// chained are the keywords that take what follows as a part of theirs, and what each counts for.
var chained = map[string]int{
	"typeof": 1, "void": 1, "delete": 1, "await": 1, "new": 1, "yield": 1, "async": 1, "throw": 1, "return": 1,
	"if": statement, "for": statement, "while": statement, "do": statement, "with": statement, "else": statement, "case": 1,
	"in": 1, "of": 1, "instanceof": 1, "extends": 1, "as": 1, "satisfies": 1, "keyof": 1, "infer": 1, "is": 1, "readonly": 1, "unique": 1, "asserts": 1,
}

// next reads a token.
func (n *nesting) next() {
	rest := n.source[n.at:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		n.at++
	case bytes.HasPrefix(rest, []byte("//")):
		n.skipTo(rest, "\n")
	case bytes.HasPrefix(rest, []byte("/*")):
		n.skipTo(rest[2:], "*/")
		n.at += 2
	case c == '"' || c == '\'':
		n.skipQuoted(c)
	case c == '`':
		n.linkAfterOperand()
		n.skipTemplate()
	case c == '/' && !n.operand:
		n.skipQuoted('/')
	case isWord(c) || c >= 0x80:
		n.word(rest)
	case c == '(' || c == '[':
		n.linkAfterOperand()
		n.open(false)
	case c == '{':
		n.open(false)
	case c == ')' || c == ']' || c == '}':
		n.close()
	case c == ';' || c == ',':
		n.at++
		n.operand = false
		here := &n.levels[len(n.levels)-1]
		n.chain -= here.chain
		here.chain = 0
	case bytes.HasPrefix(rest, []byte("=>")):
		n.at += 2
		n.operand = false
		n.link(statement)
	default:
		n.at++
		n.operand = false
		n.link(1)
	}
}

// linkAfterOperand counts a call, an index or a tagged template: what is before is inside of it.
func (n *nesting) linkAfterOperand() {
	if n.operand {
		n.link(1)
	}
}

// link counts a token that what follows is inside of, by its weight.
func (n *nesting) link(weight int) {
	n.levels[len(n.levels)-1].chain += weight
	if n.chain += weight; n.chain > maxChain {
		n.fault = "too many operators or statements are inside of each other here; write shorter expressions"
	}
}

func (n *nesting) word(rest []byte) {
	end := 1
	for end < len(rest) && (isWord(rest[end]) || rest[end] >= 0x80) {
		end++
	}
	word := rest[:end]
	weight := chained[string(word)]
	n.at += end
	n.operand = weight == 0
	n.link(weight)
	if string(word) == "else" { // counts until the bracket ends
		here := &n.levels[len(n.levels)-1]
		here.chain -= statement
		here.elses += statement
	}
}

func (n *nesting) open(template bool) {
	n.at++
	n.operand = false
	n.levels = append(n.levels, level{template: template})
	if len(n.levels) > maxNesting+1 {
		n.fault = fmt.Sprintf("more than %d brackets are inside of each other here", maxNesting)
	}
}

// close ends a level. One that was not begun is left to the parser.
func (n *nesting) close() {
	n.at++
	n.operand = true
	last := len(n.levels) - 1
	if last == 0 {
		return
	}
	here := n.levels[last]
	n.chain -= here.chain + here.elses
	n.levels = n.levels[:last]
	if here.template {
		n.at--
		n.skipTemplate()
	}
}

// skipTo goes on behind a text; without the text, at the end.
func (n *nesting) skipTo(rest []byte, text string) {
	if i := bytes.Index(rest, []byte(text)); i >= 0 {
		n.at += i + len(text)
		return
	}
	n.at = len(n.source)
}

// skipQuoted goes on behind a text or a regular expression, which ends with its line at the latest.
func (n *nesting) skipQuoted(quote byte) {
	n.operand = true
	for n.at++; n.at < len(n.source); n.at++ {
		switch n.source[n.at] {
		case '\\':
			n.at++
		case quote:
			n.at++
			return
		case '\n':
			return
		}
	}
}

// skipTemplate goes on behind a part of a template, which begins with a quote or the end of a value.
func (n *nesting) skipTemplate() {
	n.operand = true
	for n.at++; n.at < len(n.source); n.at++ {
		switch c := n.source[n.at]; {
		case c == '\\':
			n.at++
		case c == '`':
			n.at++
			return
		case c == '$' && bytes.HasPrefix(n.source[n.at:], []byte("${")):
			n.at++
			n.open(true)
			return
		}
	}
}
