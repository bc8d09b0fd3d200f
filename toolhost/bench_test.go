package toolhost

import (
	"fmt"
	"testing"
)

// BenchmarkSpawn is the time from the end of one tool host until the next one serves.
func BenchmarkSpawn(b *testing.B) {
	r := start(b)
	for b.Loop() {
		if got := r.call("worker_restart", `{}`); got.IsError {
			b.Fatal(shortened(got))
		}
	}
}

// BenchmarkCreate is the time from a creation until the tool has answered a call.
func BenchmarkCreate(b *testing.B) {
	r := start(b)
	for b.Loop() {
		r.call("dynamic_tool_create", creation(b, "made", "return args"))
		if got := r.call("made", `{"a":1}`); got.IsError {
			b.Fatal(shortened(got))
		}
	}
}

// BenchmarkCall is one call of a tool.
func BenchmarkCall(b *testing.B) {
	r := start(b)
	r.write("mine.ts", file("mine", "Mine", "return args;"))
	r.offers("mine", "Mine")
	for _, name := range []string{"mine", "assert_equals"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := r.call(name, `{"actual":1,"expected":1}`); got.IsError {
					b.Fatal(shortened(got))
				}
			}
		})
	}
}

// BenchmarkFunction is one call of a tool that lists a granted directory.
func BenchmarkFunction(b *testing.B) {
	dir := b.TempDir()
	r := start(b, func(o *Options) { o.Grants.Dirs = []Directory{{Path: dir}} })
	r.write("lists.ts", fileWith("lists", "Lists", "permissions: ['filesystem'],", fmt.Sprintf("return (await fs.list(%q)).length;", dir)))
	r.offers("lists", "Lists")
	for b.Loop() {
		if got := r.call("lists", `{}`); got.IsError {
			b.Fatal(shortened(got))
		}
	}
}
