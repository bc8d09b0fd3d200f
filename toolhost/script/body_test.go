package script

import (
	"strings"
	"testing"
)

// TestCheckBody: code that would return nothing is refused with what to write instead.
func TestCheckBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, says string }{
		{"", "it is empty"},
		{" \n // nothing\n /* at all */", "it is empty"},
		{"async (args) => { return args.a }", "it is a function"},
		{"({ a, b }) => a + b", "it is a function"},
		{"args => args.a", "it is a function"},
		{"async function handler(args) {\n  return { a: 1 };\n}", "it is a function"},
		{"function handler(args: { a: number }) { return args.a }", "it is a function"},
		{"args.a + args.b", "it is an expression"},
		{"({ sum: args.a + args.b });", "it is an expression"},
		{"await fs.writeFile('/x', args.text)", "it is an expression"},
		{"const a = 1;\nconsole.log(a);", "it never returns anything"},
		{"[1, 2].map((x) => { return x + 1 }); for (const x of [1]) { const f = function () { return x } }", "it never returns anything"},
		{"class A { get b() { return 1 } }\nconst o = { c() { return 2 } };", "it never returns anything"},
		{"if (!args.a) return;\nconsole.log(args.a)", "its return statements return nothing"},
		{"if (args.a) { return }\nelse return /* nothing */;", "its return statements return nothing"},
		{"if (!args.a) throw new Error('a is missing'); console.log(1)", "it never returns anything"},

		{"return 1", ""},
		{"if (!args.a) return;\nreturn args.a", ""},
		{"return (\n  1\n)", ""},
		{"return {\n}", ""},
		{"return/a/.test('a')", ""},
		{"const s = 'é👍'; switch (args.a) { case 1: return 'one'; default: throw new Error(s) }", ""},
		{"try { const r = await fetch('http://a/'); return await r.text() } finally { console.log('done') }", ""},
		{"throw new Error('not yet')", ""},
		{"label: for (;;) { for (;;) { return 1 } }", ""},
		{"const x: number = args.a as number; return x satisfies number", ""},
	} {
		err := CheckBody(c.code)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v; want %q", c.code, err, c.says)
		}
	}
}
