package script

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// A pattern is something that code must not contain: a word and what follows it.
type pattern struct {
	name, reason string
	word         string
	rest         *regexp.Regexp
}

// patterns are found as words: evaluate( is not eval(. They tell an author early what cannot
// work; what stops a tool is that its machine has no authority.
var patterns = sync.OnceValue(func() []pattern {
	follows := func(form string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + form + `)`) }
	call := follows(`(?:\?\.)?\(`) // a space before the bracket is prose: what esbuild writes has none
	end := follows(`\W|$`)
	const (
		modules    = "a tool has no modules"
		otherCode  = "a tool must not run other code than its own"
		prototypes = "a tool must not change prototypes"
		processes  = "a tool must not start processes"
	)
	return []pattern{
		{"process.exit", "a tool must not end its server", "process", follows(`\s*\??\.\s*exit\b`)},
		{"require()", modules, "require", call},
		{"import()", modules, "import", call},
		{"eval()", otherCode, "eval", call},
		{"new Function()", otherCode, "new", follows(`\s+Function(?:[^\w$\s]|$)`)},
		{"__proto__", prototypes, "__proto__", end},
		{"constructor[", prototypes, "constructor", follows(`(?:\?\.)?\[`)},
		{"child_process", processes, "child_process", end},
		{"Bun.spawnSync", processes, "Bun", follows(`\s*\??\.\s*spawnSync\b`)},
		{"Bun.spawn", processes, "Bun", follows(`\s*\??\.\s*spawn\b`)},
	}
})

// find returns the offset of the pattern in a text, or -1.
func (p pattern) find(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], p.word)
		if i < 0 {
			return -1
		}
		i += from
		from = i + len(p.word)
		if (i == 0 || !isWord(text[i-1])) && p.rest.MatchString(text[from:]) {
			return i
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Scan returns an *Error if the source contains one of the patterns that tools must not contain,
// also in a string, or is no TypeScript. Comments and types may contain them.
func Scan(file string, source []byte) error {
	if len(source) > maxSource {
		return &Error{File: file, Text: fmt.Sprintf("the file has %d bytes; a tool has at most %d", len(source), maxSource)}
	}
	// Esbuild drops comments and types, and writes words in one way only.
	r, err := transform(source, minifying(file))
	if err != nil {
		return err
	}
	code := string(r.Code)
	for _, p := range patterns() {
		if at := p.find(code); at >= 0 {
			e := &Error{File: file, Text: fmt.Sprintf("%s is not allowed: %s", p.name, p.reason)}
			e.Line, e.Column = p.near(string(source), r.Map, code[:at])
			return e
		}
	}
	return nil
}

// minifying are the options with which esbuild writes code in one way, without comments and types.
func minifying(file string) api.TransformOptions {
	options := transformOptions(file)
	options.MinifyWhitespace = true
	return options
}

// near returns where in the source the pattern is that follows the given code.
func (p pattern) near(source string, sourceMap []byte, before string) (line, column int) {
	line, column = newPositions(sourceMap).find(1+strings.Count(before, "\n"), utf16Len(before[strings.LastIndexByte(before, '\n')+1:]))
	// The map says where the token begins, and a text of many lines is one token.
	offset := offsetOf(source, line, column)
	if at := p.find(source[offset:]); at >= 0 {
		return positionOf(source, offset+at)
	}
	return line, column
}
