package toolhost

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestHotReload: files come, change and go while the tool host runs, whatever way an editor writes
// them, and the process stays the same.
func TestHotReload(t *testing.T) {
	t.Parallel()
	r := start(t)
	pid := r.now().PID
	r.write("a.ts", file("a", "one", "return 1;")) // by renaming
	r.offers("a", "one")
	check.OK(t, os.WriteFile(r.path("a.ts"), []byte(file("a", "two", "return 2;")), 0o600))
	r.offers("a", "two")
	r.gives("a", `{}`, "2")
	check.OK(t, os.Rename(r.path("a.ts"), r.path("b.ts")))
	r.eventually("b.ts defines a", func() bool { t, _ := r.offer.find("a"); return t.File == "b.ts" })
	r.gives("a", `{}`, "2")
	check.OK(t, os.Remove(r.path("b.ts")))
	r.offers("a", "")
	for i := range 100 {
		r.write(fmt.Sprintf("many_%d.ts", i), file(fmt.Sprintf("many_%d", i), "Many", "return 1;"))
	}
	r.offers("many_99", "Many")
	r.eventually("all tools", func() bool {
		for i := range 100 {
			if _, ok := r.registry.Find(fmt.Sprintf("many_%d", i)); !ok {
				return false
			}
		}
		return true
	})
	if s := r.now(); s.PID != pid || s.RestartCount != 0 || r.lastError() != "" {
		t.Errorf("the state is %+v, %s", s, r.lastError())
	}
}

// TestSameContents: a file that is written again with the same contents changes nothing.
func TestSameContents(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("a.ts", file("a", "one", "return 1;"))
	r.offers("a", "one")
	r.write("a.ts", file("a", "one", "return 1;"))
	r.write("b.ts", file("b", "B", "return 1;")) // read at the same time, or later
	r.offers("b", "B")
	if n := strings.Count(r.log.String(), `says="tool loaded" file=a.ts`); n != 1 {
		t.Errorf("a.ts is loaded %d times", n)
	}
}

// TestBrokenFile: a file that cannot be loaded keeps its earlier tool, and its problem is shown
// until it is mended.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("a.ts", file("a", "good", "return 1;"))
	r.offers("a", "good")
	r.write("a.ts", "export const tool = {\n  name: 'a' +;\n")
	r.eventually("the problem", func() bool { return strings.Contains(r.lastError(), "a.ts:2:14: ") })
	r.gives("a", `{}`, "1")
	if !r.log.has("tool not loaded", "level=ERROR", "a.ts:2:14: ", "earlier_version_serves=true") {
		t.Error("the problem is not logged")
	}
	r.write("b.ts", "new Function('a');")
	r.eventually("the problem", func() bool { return strings.Contains(r.lastError(), "; b.ts:1:1: new Function() is not allowed") })
	check.OK(t, os.Remove(r.path("b.ts")))
	r.write("a.ts", file("a", "mended", "return 2;"))
	r.offers("a", "mended")
	r.eventually("no problem", func() bool { return r.lastError() == "" })
	r.write("a.ts", file("renamed", "Renamed", "return 3;"))
	r.offers("renamed", "Renamed")
	r.offers("a", "")
}

// TestOtherFiles: what is no tool is left alone, or refused with a reason, and never blocks the
// start.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	outside := filepath.Join(t.TempDir(), "outside.ts")
	check.OK(t, os.WriteFile(outside, []byte(file("outside", "Outside", "return 1;")), 0o600))
	for _, name := range []string{".hidden.ts", "_helper.ts", "types.d.ts", "note.md", "script.js", "page.tsx", "good.js"} {
		r.write(name, "no TypeScript (")
	}
	check.OK(t, os.Mkdir(r.path("directory.ts"), 0o700))
	check.OK(t, os.Mkdir(r.path("below"), 0o700))
	r.write("below/deep.ts", file("deep", "Deep", "return 1;"))
	mkfifo(t, r.path("fifo.ts"))
	runtime, err := os.MkdirTemp("", "th") // t.TempDir may be too long for a socket
	check.OK(t, err)
	defer func() { check.OK(t, os.RemoveAll(runtime)) }()
	socket, err := net.Listen("unix", filepath.Join(runtime, "s"))
	check.OK(t, err)
	defer func() { _ = socket.Close() }()
	check.OK(t, os.Symlink(filepath.Join(runtime, "s"), r.path("socket.ts")))
	check.OK(t, os.Symlink(outside, r.path("link.ts")))
	check.OK(t, os.Symlink("nowhere", r.path("dangling.ts")))
	check.OK(t, os.Symlink("loop.ts", r.path("loop.ts")))
	check.OK(t, os.Symlink("/dev/zero", r.path("zero.ts")))
	r.write("big.ts", file("big", "Big", "return 1;")+strings.Repeat(" ", 1<<20))
	r.write("empty.ts", "")
	r.write("good.ts", file("good", "Good", "return 1;"))
	check.OK(t, os.Symlink("good.ts", r.path("again.ts")))
	r.run()
	<-r.Settled()
	r.gives("good", `{}`, "1")
	var dynamic []string
	for _, tool := range r.registry.List(tools.View{}) {
		if tool.Source == api.Dynamic {
			dynamic = append(dynamic, tool.Name)
		}
	}
	if fmt.Sprint(dynamic) != "[good]" {
		t.Errorf("the tools are %v", dynamic)
	}
	for name, says := range map[string]string{
		"big.ts": "at most 1048576", "dangling.ts": "no such file", "directory.ts": "not a regular file", "empty.ts": "must export a constant named tool",
		"fifo.ts": "not a regular file", "link.ts": "escapes", "loop.ts": "", "socket.ts": "escapes", "zero.ts": "escapes",
		"again.ts": `good.ts defines the tool \"good\" already`,
	} {
		if !r.log.has("level=ERROR", name, says) {
			t.Errorf("nothing is logged of %s", name)
		}
	}
	for _, name := range []string{"again.ts: good.ts defines", "big.ts: ", "loop.ts", "socket.ts", "zero.ts", "page.tsx", "script.js"} {
		if !strings.Contains(r.lastError(), name) {
			t.Errorf("lastError is %s, and does not name %s", r.lastError(), name)
		}
	}
	if strings.Contains(r.lastError(), "good.js") { // which is made of good.ts
		t.Errorf("lastError is %s", r.lastError())
	}
	var problems []string
	for _, p := range r.now().Health.Problems {
		problems = append(problems, p.File)
	}
	if got := strings.Join(problems, " "); got != "again.ts big.ts dangling.ts directory.ts empty.ts fifo.ts link.ts loop.ts socket.ts zero.ts page.tsx script.js" {
		t.Errorf("the problems are of %s", got)
	}
}

// TestSameName: of two files with one tool the first counts, and the second takes its place; a file
// with the name of the tool counts before all.
func TestSameName(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("b.ts", file("twice", "From b", "return 'b';"))
	r.offers("twice", "From b")
	r.write("a.ts", file("twice", "From a", "return 'a';"))
	r.offers("twice", "From a")
	r.eventually("the problem", func() bool { return r.lastError() == `b.ts: a.ts defines the tool "twice" already` })
	r.gives("twice", `{}`, "a")
	r.gives("dynamic_tool_delete", `{"name":"twice"}`, "Tool 'twice' deleted successfully")
	r.gives("twice", `{}`, "b")
	if problem := r.lastError(); problem != "" {
		t.Errorf("lastError is %s", problem)
	}
	r.write("a.ts", file("twice", "From a", "return 'a';"))
	r.offers("twice", "From a")
	r.write("twice.ts", file("twice", "From twice", "return 'twice';"))
	r.offers("twice", "From twice")
}

// TestDelete: tools of files and of the program can be deleted, but for the protected ones, and
// rolling back brings them back.
func TestDelete(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("mine.ts", file("mine", "Mine", "return 1;"))
	r.offers("mine", "Mine")
	r.call("worker_snapshot", `{"name":"before"}`)
	count := r.now().Health.ToolCount
	for _, name := range []string{"mine", "assert_equals", "hash_text"} {
		r.gives("dynamic_tool_delete", `{"name":"`+name+`"}`, "Tool '"+name+"' deleted successfully")
		r.offers(name, "")
		r.refuses("dynamic_tool_delete", `{"name":"`+name+`"}`, "there is no tool")
	}
	if n := r.now().Health.ToolCount; n != count-3 {
		t.Errorf("%d tools, before %d", n, count)
	}
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	r.offers("assert_equals", "")
	for name, says := range map[string]string{
		"hello_world": "protected", "dynamic_tool_create": "protected", "worker_status": "tool of the gateway",
		"tool_call": "tool of the gateway", "none": "there is no tool", "": "there is no tool", "../mine": "there is no tool",
	} {
		r.refuses("dynamic_tool_delete", `{"name":"`+name+`"}`, says)
	}
	r.gives("worker_rollback", `{}`, "Rolled back to snapshot: "+r.ids("before")[0])
	r.gives("mine", `{}`, "1")
	if n := r.now().Health.ToolCount; n != count {
		t.Errorf("%d tools, before %d", n, count)
	}
}

// TestShadow: a file takes the place of a tool of the program, until the file is deleted.
func TestShadow(t *testing.T) {
	t.Parallel()
	r := start(t)
	own, _ := r.registry.Find("hash_text")
	r.gives("dynamic_tool_create", creation(t, "hash_text", "return 'mine'"), `Tool 'hash_text' created successfully. Call it now: tool_call with name "hash_text".`)
	r.gives("hash_text", `{}`, "mine")
	r.gives("dynamic_tool_delete", `{"name":"hash_text"}`, "Tool 'hash_text' deleted successfully")
	r.offers("hash_text", own.Description)
	if tool, _ := r.registry.Find("hash_text"); tool.Source != api.Builtin {
		t.Errorf("%+v", tool)
	}
	r.gives("dynamic_tool_delete", `{"name":"hash_text"}`, "Tool 'hash_text' deleted successfully")
	r.offers("hash_text", "")
	r.gives("dynamic_tool_create", creation(t, "hash_text", "return 'again'"), `Tool 'hash_text' created successfully. Call it now: tool_call with name "hash_text".`)
	r.gives("hash_text", `{}`, "again")
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	check.OK(t, syscall.Mkfifo(path, 0o600))
}

// TestWildSchemas: a schema that refers to itself, or takes too long to apply, costs its own calls
// only.
func TestWildSchemas(t *testing.T) {
	t.Parallel()
	r := start(t)
	var wide strings.Builder // 2^34 steps
	for i := range 34 {
		fmt.Fprintf(&wide, "d%d: { allOf: [{ $ref: '#/$defs/d%d' }, { $ref: '#/$defs/d%d' }] }, ", i, i+1, i+1)
	}
	for name, schema := range map[string]string{
		"endless": "{ type: 'object', allOf: [{ $ref: '#' }] }",
		"wide":    "{ type: 'object', $ref: '#/$defs/d0', $defs: { " + wide.String() + "d34: {} } }",
		"fine":    "{ type: 'object', properties: { a: { type: 'string', pattern: '^x' } } }",
	} {
		r.write(name+".ts", strings.Replace(fileWith(name, "Takes anything", "timeoutMs: 1000,", "return 'well';"), "{ type: 'object' }", schema, 1))
		r.offers(name, "Takes anything")
	}
	pid := r.now().PID
	r.refuses("endless", `{}`, "refers to itself without end")
	r.refuses("wide", `{}`, "did not end within 1s")
	r.refuses("fine", `{"a":"y"}`, "do not fit its schema", "/a")
	r.gives("fine", `{"a":"x"}`, "well")
	if now := r.now().PID; now != pid {
		t.Errorf("process %d has taken the place of %d", now, pid)
	}
}

// TestSlowFiles: files that cannot be loaded, and take long until that is known, do not look like a
// tool host that does not start.
func TestSlowFiles(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	for i := range 6 {
		r.write(fmt.Sprintf("a%d.ts", i), "for (;;) {}\nexport const tool = {};\n")
	}
	r.write("b.ts", file("b", "last", "return 1;"))
	r.run()
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
	r.offers("b", "last")
	if s := r.now(); s.RestartCount != 0 || len(s.Health.Problems) != 6 {
		t.Errorf("the state is %+v, %s", s, r.lastError())
	}
}

// TestDump: of the stacks of a tool host that crashes the log has the beginning, and the reason.
func TestDump(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	w := &logWriter{log: slog.New(slog.NewTextHandler(log, nil))}
	_, err := fmt.Fprintf(w, "runtime: stack exceeds\nfatal error: stack overflow\n%s", strings.Repeat("goroutine\n", 1000))
	check.OK(t, err)
	if n := strings.Count(log.String(), "\n"); n != maxDump+1 || w.reason != "fatal error: stack overflow" || !log.has("the rest is left out") {
		t.Errorf("%d lines, the reason %q", n, w.reason)
	}
}
