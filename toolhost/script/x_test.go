package script

import (
	"fmt"
	"testing"
	"time"

	"bareclaw/core/tools"
)

func TestX(t *testing.T) {
	for _, code := range []string{
		`return 1`,
		`throw new Error("boom")`,
		`const f = () => { throw new TypeError("in f") };
f();`,
		`await null; throw new Error("after await")`,
		`throw "x"`, `throw null`, `throw {a:1}`, `throw undefined`, `throw Symbol("s")`, `throw new Proxy({}, {get(){throw 1}})`,
		`return undefined`, `return null`, `return [1]`, `return 10n`, `return {a:10n}`, `const a={}; a.a=a; return a`, `return new Date(0)`, `return ()=>1`,
		`for(;;){}`, `try{for(;;){}}catch{for(;;){}}`, `return /^(?=a)(a+)+$/.test("a".repeat(40)+"b")`,
		`const a=[]; for(;;) a.push("x".repeat(1000)+a.length)`,
		`const a=[]; try { for(;;) a.push("x".repeat(1000)+a.length) } catch {} return "caught"`,
		`globalThis.a=[]; for(;;) a.push(new Array(1000).fill(1))`,
		`const f=()=>f()+1; return f()`,
		`await new Promise(()=>{})`,
		`return "x".repeat(100<<20)`, `return "x".repeat(2<<20)`, `return "é".repeat(600000)`, `return "x".repeat(50<<20)`,
		`return {a:new Array(30<<20).fill(1)}`,
		`return {a:"x".repeat(20<<20)}`,
		`return Array.prototype.indexOf.call({length: 2**40}, 1)`,
		`return (3n ** 600000n).toString().length`,
		`return (()=>{}).constructor("return globalThis")() === globalThis`,
		`return await import("os")`[0:0] + `const x = Reflect; return typeof x`,
		`return [typeof eval, typeof Function, typeof process, typeof require, typeof fetch, typeof fs, typeof __host, typeof std, typeof os, typeof Intl]`,
		`return Object.getOwnPropertyNames(globalThis).join(" ")`,
		`await new Promise(r=>setTimeout(r, 50)); return "slept"`,
		`const o=[]; setTimeout(()=>o.push(2),2); setTimeout(()=>o.push(1),1); setTimeout(()=>o.push(3),2); await new Promise(r=>setTimeout(r, 5)); return o`,
		`console.log("hi", {a:1}, new Error("e")); queueMicrotask(()=>{throw new Error("micro")}); await null; await null; await null; return 1`,
		`const loop=()=>Promise.resolve().then(loop); loop(); return 1`,
		`const loop=()=>Promise.resolve().then(loop); await loop();`,
		`setTimeout(()=>{throw new Error("in timer")}, 1); await new Promise(r=>setTimeout(r, 5)); return "ok"`,
		`return JSON.parse("[".repeat(1000000))`,
		`return new RegExp("(".repeat(100000)+")".repeat(100000))`,
		`return [..."👍é"].length`,
		`return "\ud800"`,
		`return args`,
		`Array.from({length:3e6}, Math.random).sort(); return 1`,
		`class A { static #x = 1; static { this.y = A.#x } } return A.y`,
	} {
		src, before := Wrap("t", "d", []byte(`{"type":"object"}`), code, nil)
		s, err := Compile(t.Context(), "t.ts", src)
		if err != nil {
			fmt.Printf("== %.70s\n   COMPILE %v (code begins after %d)\n", code, err, before)
			continue
		}
		s.Timeout = 1 * time.Second
		began := time.Now()
		r, err := s.Tool(nil, func(l string) { fmt.Printf("log %q\n", l) }).Handle(t.Context(), tools.Call{Args: []byte(`{"a":1}`)})
		fmt.Printf("== %.70s\n   %s %.300s %.300s idle %d %.600v\n", code, time.Since(began).Round(time.Microsecond*100), r.Text, r.Structured, len(s.pool.idle), err)
		s.Close()
	}
}
