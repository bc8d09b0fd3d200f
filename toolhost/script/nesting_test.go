package script

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"
)

// shapes nest code n deep.
var shapes = map[string]func(n int) string{
	"not":            before("!", "1"),
	"minus":          before("- ", "1"),
	"typeof":         before("typeof ", "1"),
	"void":           before("void ", "1"),
	"delete":         before("delete ", "a"),
	"await":          before("await ", "1"),
	"new":            before("new ", "a"),
	"arrow":          before("a=>", "1"),
	"async arrow":    before("async a=>", "1"),
	"power":          before("2**", "1"),
	"assignment":     before("a=", "1"),
	"condition":      before("1?1:", "1"),
	"in a condition": func(n int) string { return strings.Repeat("1?", n) + "1" + strings.Repeat(":1", n) },
	"sum":            before("1+", "1"),
	"and":            before("a&&", "1"),
	"nullish":        before("a??", "1"),
	"less":           before("1<", "1"),
	"member":         func(n int) string { return "a" + strings.Repeat(".a", n) },
	"optional":       func(n int) string { return "a" + strings.Repeat("?.a", n) },
	"call":           func(n int) string { return "a" + strings.Repeat("()", n) },
	"index":          func(n int) string { return "a" + strings.Repeat("[0]", n) },
	"tagged":         func(n int) string { return "a" + strings.Repeat("``", n) },
	"non-null":       func(n int) string { return "a" + strings.Repeat("!", n) },
	"as":             func(n int) string { return "a" + strings.Repeat(" as a", n) },
	"if":             before("if(1)", ";"),
	"else":           before("if(1)a;else ", ";"),
	"else lines":     before("if(1)\na\nelse ", ";"),
	"else blocks":    before("if(1){}else ", ";"),
	"for":            before("for(;;)", ";"),
	"while":          before("while(1)\n", ";"),
	"do":             func(n int) string { return strings.Repeat("do ", n) + ";" + strings.Repeat("while(1);", n) },
	"bracket":        func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
	"array":          func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
	"block":          func(n int) string { return strings.Repeat("{", n) + strings.Repeat("}", n) },
	"template":       func(n int) string { return strings.Repeat("`${", n) + "1" + strings.Repeat("}`", n) },
	"type argument":  func(n int) string { return "let x: " + strings.Repeat("A<", n) + "A" + strings.Repeat(">", n) },
	"keyof":          before("let x: "+"keyof ", "A"),
	"array type":     func(n int) string { return "let x: A" + strings.Repeat("[]", n) },
	"condition type": func(n int) string { return "let x: " + strings.Repeat("A extends A ? A : ", n) + "A" },
	"function type":  func(n int) string { return "let x: " + strings.Repeat("(a: A) => ", n) + "A" },
	"behind a regex": func(n int) string { return "/['\"`]/.test(a); " + strings.Repeat("!", n) + "1" },
	"class":          before("class extends ", "a {}"),
}

func before(prefix, last string) func(int) string {
	return func(n int) string { return strings.Repeat(prefix, n) + last }
}

// TestNesting: code that is nested beyond reason ends nobody's process, as a body and as a file; with the stack that
// the tool host has. What is as deep as allowed does not either.
func TestNesting(t *testing.T) {
	debug.SetMaxStack(256 << 20)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{300_000, maxChain - 100} {
				code := shape(n)
				if len(code) > maxSource {
					code = shape(maxSource / (len(code)/n + 1))
				}
				IsBody(code)
				_, err := Compile(t.Context(), "deep.ts", []byte("export const x = 1;\n"+code))
				var at *Error
				if n == 300_000 && (err == nil || !errors.As(err, &at)) {
					t.Errorf("%d deep: %v", n, err)
				}
				if errors.Is(err, ErrStuck) {
					t.Fatalf("%d deep: %v", n, err)
				}
			}
		})
	}
}

// TestNestingIsFair: what people write is not refused, also where it is long.
func TestNestingIsFair(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"a table":             "const t = [" + strings.Repeat("{a: -1, b: 'x' + \"y\", c: !0},\n", 20_000) + "]; return t.length;",
		"lines without ;":     strings.Repeat("const f = a.b.c + 1\n", 1000),
		"texts of signs":      "return '" + strings.Repeat("!+(", 30_000) + "' + \"" + strings.Repeat("[{", 30_000) + "\" + `" + strings.Repeat("(=>", 30_000) + "`;",
		"comments of signs":   "/*" + strings.Repeat("!(", 30_000) + "*/ //" + strings.Repeat("!(", 30_000) + "\nreturn 1;",
		"expressions":         "return a.replace(/" + strings.Repeat(`[!(=]\/`, 10_000) + "/g, '');",
		"values in templates": "return `" + strings.Repeat("${a + (b ? 1 : 2)} ", 5_000) + "`;",
		"calls":               strings.Repeat("foo(1)\n", 4_000),
		"a long sum":          "return " + strings.Repeat("'line' +\n", 4_000) + "'';",
	} {
		if err := checkNesting("code", []byte(code)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
