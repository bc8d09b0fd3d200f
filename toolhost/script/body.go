package script

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"bareclaw/toolhost/api"
)

// CheckBody returns why code cannot be the body of a handler, or would return nothing: then every call of the
// tool would give an empty text, without an error. Errors of the language are those of [CheckSource].
func CheckBody(code string) error {
	switch {
	case isModule(code): // nothing in it returns
	case returnsValue(code):
		return nil
	default:
		return errors.New("its return statements return nothing: write what the tool returns behind return, an object or a string")
	}
	minified, err := transform([]byte(code), minifying("code"))
	expression := isExpression(code)
	switch text := strings.TrimSpace(string(minified.Code)); {
	case err != nil:
		return nil //nolint:nilerr // not as a program of its own: what it is as a body is checked elsewhere
	case text == "":
		return errors.New("it is empty: write the body of an async function of args, such as: return { sum: args.a + args.b };")
	case isFunction().MatchString(text) && expression:
		return errors.New("it is a function, and nothing calls it: write only what is between its braces; the tool gives args")
	case expression:
		return errors.New("it is an expression, whose value goes nowhere: write return before it")
	case alwaysThrows().MatchString(text):
		return nil
	}
	return errors.New("it never returns anything: end it with return and an object or a string, such as: return { done: true };")
}

var (
	isFunction   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:async\b|function\b|[\w$]+=>|\([^()]*\)=>)`) })
	alwaysThrows = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^throw\b`) })
)

// asModule makes code that is taken for a module, where a return statement outside of functions is an error.
const asModule = "\nexport {}"

func isModule(code string) bool {
	_, err := transform([]byte(code+asModule), transformOptions("code"))
	return err == nil
}

// maxBareReturns is how many return statements without a value are looked at.
const maxBareReturns = 100

// returnsValue reports whether a return statement of the code, but none of the functions in it, has a value.
// Code that is wrong in another way counts as returning.
func returnsValue(code string) bool {
	for range maxBareReturns {
		_, err := transform([]byte(code+asModule), transformOptions("code"))
		var at *Error
		if !errors.As(err, &at) || !strings.Contains(at.Text, "return") {
			return err != nil
		}
		offset := offsetOf(code, at.Line, at.Column)
		rest, found := strings.CutPrefix(code[offset:], "return")
		if !found || !isBare().MatchString(rest) {
			return true
		}
		code = code[:offset] + "void 0" + rest // of the same length
	}
	return true
}

var isBare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[ \t]*(?:/\*.*?\*/)?)*(?:;|\}|\r|\n|//|$)`) })

// isExpression reports whether code is an expression.
func isExpression(code string) bool {
	code = strings.TrimRight(strings.TrimSpace(code), "; \n\t")
	_, err := transform([]byte("export default (\n"+code+"\n)"), transformOptions("code"))
	return err == nil
}

// offsetOf returns the offset of a position that esbuild tells: the column counts bytes, from 1.
func offsetOf(source string, line, column int) int {
	offset := 0
	for n := line; n > 1; n-- {
		next := strings.IndexByte(source[offset:], '\n')
		if next < 0 {
			return len(source)
		}
		offset += next + 1
	}
	return min(offset+max(column-1, 0), len(source))
}

var moduleStatement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(import|export)\b(?:.*?\bfrom\s*|\s*)(?:['"]([^'"]+)['"])?`)
})

// explainModule says of an error of the language in a line what is wrong, if that is a statement of modules.
func explainModule(source string, e *Error) error {
	begin := offsetOf(source, e.Line, 1)
	line, _, _ := strings.Cut(source[begin:], "\n")
	m := moduleStatement().FindStringSubmatch(line)
	if m == nil {
		return e
	}
	told := *e
	told.Column = 1 + len(line) - len(strings.TrimLeft(line, " \t"))
	switch {
	case m[1] == "export":
		told.Text = "export is not allowed here: the code is the body of the handler alone, not a file"
	case m[2] == "":
		told.Text = "import is not allowed: a tool has no modules"
	default:
		told.Text = fmt.Sprintf("%s cannot be imported: a tool has no modules, but it has %s", m[2], api.Available)
	}
	return &told
}
