package script

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// A pattern is something that code must not contain.
type pattern struct {
	name, reason string
	form         *regexp.Regexp
}

// patterns are found as words: evaluate( is not eval(. They tell an author early what cannot
// work; what stops a tool is that its machine has no authority.
var patterns = sync.OnceValue(func() []pattern {
	word := func(name, reason, form string) pattern {
		return pattern{name, reason, regexp.MustCompile(`(?:^|[^\w$])(` + form + `)`)}
	}
	return []pattern{
		word("process.exit", "a tool must not end its server", `process(?:\?\.|\s*\.\s*)exit\b`),
		word("require()", "a tool has no modules", `require(?:\?\.)?\s*\(`),
		word("import()", "a tool has no modules", `import\s*\(`),
		word("eval()", "a tool must not run other code than its own", `eval(?:\?\.)?\s*\(`),
		word("new Function()", "a tool must not run other code than its own", `new\s+Function\b`),
		word("__proto__", "a tool must not change prototypes", `__proto__\b`),
		word("constructor[", "a tool must not reach for constructors", `constructor(?:\?\.)?\s*\[`),
		word("child_process", "a tool must not start processes", `child_process\b`),
		word("Bun.spawnSync", "a tool must not start processes", `Bun(?:\?\.|\s*\.\s*)spawnSync\b`),
		word("Bun.spawn", "a tool must not start processes", `Bun(?:\?\.|\s*\.\s*)spawn\b`),
	}
})

// Scan returns an *Error if the source contains one of the patterns that tools must not contain,
// also in a string, or is no TypeScript. Comments and types may contain them.
func Scan(file string, source []byte) error {
	if len(source) > MaxSource {
		return &Error{File: file, Text: fmt.Sprintf("the file has %d bytes; a tool has at most %d", len(source), MaxSource)}
	}
	if depth := nesting(source); depth > maxNesting {
		return &Error{File: file, Text: fmt.Sprintf("the file nests %d brackets; a tool nests at most %d", depth, maxNesting)}
	}
	// Esbuild drops comments and types, and writes words in one way only.
	options := transformOptions(file)
	options.MinifyWhitespace = true
	r, err := transform(source, options)
	if err != nil {
		return err
	}
	code := string(r.Code)
	for _, p := range patterns() {
		at := p.form.FindStringSubmatchIndex(code)
		if at == nil {
			continue
		}
		before := code[:at[2]]
		row := 1 + strings.Count(before, "\n")
		e := &Error{File: file, Text: fmt.Sprintf("%s is not allowed: %s", p.name, p.reason)}
		e.Line, e.Column = newPositions(r.Map).find(row, utf16Len(before[strings.LastIndexByte(before, '\n')+1:]))
		e.Line, e.Column = p.near(source, e.Line, e.Column)
		return e
	}
	return nil
}

// near returns where the pattern is, when a source map has found where its token begins: a text
// of many lines is one token.
func (p pattern) near(source []byte, line, column int) (int, int) {
	offset := 0
	for n := line; n > 1; n-- {
		offset += bytes.IndexByte(source[offset:], '\n') + 1
	}
	offset = min(offset+max(column-1, 0), len(source))
	at := p.form.FindSubmatchIndex(source[offset:])
	if at == nil {
		return line, column
	}
	return positionOf(source, offset+at[2])
}

// maxNesting is how deep the brackets of a file may be nested. The parser of esbuild has no bound
// and would end the process.
const maxNesting = 1000

// nesting returns how deep brackets are nested. Those in texts count, which hardly matters.
func nesting(source []byte) (deepest int) {
	depth := 0
	for _, c := range source {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}
