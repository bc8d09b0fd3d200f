package script

import (
	"errors"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestScan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, says string }{
		{"process.exit(1)", "a.ts:1:1: process.exit is not allowed: a tool must not end its server"},
		{"const fs = require('fs')", "a.ts:1:12: require() is not allowed: a tool has no modules"},
		{"1;\n\n  await import('fs')", "a.ts:3:9: import() is not allowed: a tool has no modules"},
		{"x = eval('1')", "a.ts:1:5: eval() is not allowed: a tool must not run other code than its own"},
		{"x = new Function('1')", "a.ts:1:5: new Function() is not allowed: a tool must not run other code than its own"},
		{"x.__proto__ = 1", "a.ts:1:3: __proto__ is not allowed: a tool must not change prototypes"},
		{"x.constructor['a']", "a.ts:1:3: constructor[ is not allowed: a tool must not change prototypes"},
		{"import { spawn } from 'child_process'; spawn()", "a.ts:1:24: child_process is not allowed: a tool must not start processes"},
		{"Bun.spawn(['ls'])", "a.ts:1:1: Bun.spawn is not allowed: a tool must not start processes"},
		{"Bun.spawnSync(['ls'])", "a.ts:1:1: Bun.spawnSync is not allowed: a tool must not start processes"},
		// Written in other ways
		{"eval /* x */ ('1')", "eval()"},
		{"eval?.('1')", "eval()"},
		{"process\n  .exit()", "process.exit"},
		{"process?.exit()", "process.exit"},
		{"x = {'__proto__': 1}", "__proto__"},
		{"x['__pro' + 'to__']", "__proto__"},
		{`x = "\u005f_proto__"`, "__proto__"},
		{"\\u0065val('1')", "eval()"},
		{"x = new   Function", "new Function()"},
		// In texts
		{"x = 'do not eval(this)'", "a.ts:1:13: eval()"},
		{"x = `one\ntwo\n three require('x')`", "a.ts:3:8: require()"},
		{"x = /child_process/", "child_process"},
		{"'//'; eval('1')", "a.ts:1:7: eval()"},
		// Prose in texts
		{"x = 'Fields that require (at least) one value'", ""},
		{"x = 'import (or paste) the text, eval (see below), a new Function for it'", ""},
		{"require ('x')", "require()"},
		{"x.constructor ['a']", "constructor["},
		{"new Function", "new Function()"},
		{"x = 'a constructor [sic]'", ""},
		// As words
		{"evaluate('1'); medieval('x'); $eval(1); retrieval(1)", ""},
		{"requires('x'); prerequire('x')", ""},
		{"reimport('x'); new Functional(); new FunctionRegistry()", ""},
		{"process.exitCode; preprocess.exited; my__proto__; __proto__s; constructors[1]; child_processes; Bun.spawner", ""},
		{"x.constructor.name; class A { constructor() {} }", ""},
		// In comments and types
		{"// eval('1')\n/* require('x') */ 1 /* process.exit */", ""},
		{"let x: typeof import('fs')", ""},
		{"import type { A } from 'child_process'", ""},
		{"/** import('x')\n * __proto__ */\nexport const x = 1 // child_process", ""},
		// No code
		{"const = 1", `a.ts:1:7: Expected identifier but found "="`},
		{"'", "a.ts:1:2: Unterminated string literal"},
		{"", ""},
	} {
		err := Scan("a.ts", []byte(c.source))
		switch {
		case c.says == "":
			if err != nil {
				t.Errorf("%q: %v", c.source, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.says):
			t.Errorf("%q: %v; want %s", c.source, err, c.says)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(reverse))
	f.Add([]byte("x = `a${eval('1')}\n` /* require( */"))
	f.Add([]byte("'\\\u2028'; eval('1')"))
	f.Add([]byte("!\u2028"))
	f.Fuzz(func(t *testing.T, source []byte) {
		err := Scan("a.ts", source)
		if err == nil {
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("no *Error: %v", err)
		}
		if n := lines(source); e.Line > n {
			t.Errorf("%v in a file of %d lines", err, n)
		}
	})
}

// lines counts lines as JavaScript has them.
func lines(source []byte) int {
	return 1 + strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(source)), "\n")
}

func BenchmarkScan(b *testing.B) {
	for b.Loop() {
		check.OK(b, Scan("reverse_string.ts", []byte(reverse)))
	}
}
