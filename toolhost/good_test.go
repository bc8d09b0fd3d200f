package toolhost

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// kept waits until the good version of a file is kept, which has a text.
func (r *running) kept(name, text string) {
	r.t.Helper()
	r.eventually("the version is kept", func() bool {
		b, err := os.ReadFile(filepath.Join(r.files.good.dir, name))
		return err == nil && strings.Contains(string(b), text)
	})
}

// TestGoodVersion: the last good version of a broken file serves through crashes, restarts and other processes of the
// gateway, until a rollback. Who calls a tool that is missing is told why.
func TestGoodVersion(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("hot.ts", file("hot", "Hot", "return 'good';"))
	r.offers("hot", "Hot")
	r.kept("hot.ts", "'good'")
	r.write("hot.ts", "export const tool = {\n  name: 'hot' +;\n")
	r.write("new.ts", "export const tool = {\n  name: 'new' +;\n")
	serves := func(when string, r *running) {
		t.Helper()
		r.gives(tools.CallName, `{"name":"hot"}`, "good")
		for _, name := range []string{"hot", "new"} {
			r.eventually("the problem is told "+when, func() bool { return strings.Contains(r.lastError(), name+".ts:2:16: ") })
		}
		r.refuses(tools.CallName, `{"name":"new"}`, `there is no tool "new" now. Its file is not loaded: new.ts:2:16: `)
	}
	serves("at first", r)
	r.kill(syscall.SIGKILL)
	serves("after a crash", r)
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	serves("after a restart", r)
	r.stop()
	r = start(t, func(o *Options) { o.ToolsDir = r.dir })
	serves("after a new start", r)

	r.call("worker_snapshot", `{"name":"broken"}`)
	r.write("hot.ts", file("hot", "Mended", "return 'mended';"))
	r.offers("hot", "Mended")
	r.kept("hot.ts", "'mended'")
	r.call("worker_rollback", `{}`)
	r.refuses(tools.CallName, `{"name":"hot"}`, "Its file is not loaded: hot.ts:2:16: ")

	r.write("hot.ts", file("hot", "Again", "return 'again';"))
	r.offers("hot", "Again")
	r.kept("hot.ts", "'again'")
	r.gives("dynamic_tool_delete", `{"name":"hot"}`, "Tool 'hot' deleted successfully")
	r.eventually("nothing is kept of a deleted file", func() bool { return len(entries(t, r.files.good.dir)) == 0 })
}

// TestGoodVersionsNowhere: where they cannot be kept, tools go on all the same.
func TestGoodVersionsNowhere(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	check.OK(t, os.MkdirAll(filepath.Dir(r.files.good.dir), 0o700))
	check.OK(t, os.WriteFile(r.files.good.dir, nil, 0o600))
	r.write("a.ts", file("a", "A", "return 1;"))
	r.run()
	r.offers("a", "A")
	r.eventually("a warning", func() bool { return r.log.has("level=WARN", "good versions of files are not kept") })
	r.gives("a", `{}`, "1")
}
