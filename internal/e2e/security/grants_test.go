package security

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestGrantAround: a grant of a directory that holds the gateway's own directories does not reach these.
func TestGrantAround(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Set("BARECLAW_TOOL_GRANTS=filesystem:" + m.Dir)
	m.Write("home/.config/bareclaw/notes.md", "secret", 0o600)
	m.Write("work/mine.txt", "mine", 0o600)
	g := m.Start()
	call := func(args harness.Obj) string {
		t.Helper()
		return string(g.Must("POST", "/toolhost/call", harness.Obj{"tool": "files", "args": args}, 200).Body)
	}
	g.Eventually("the tool is made", func() bool {
		a, err := g.Do("POST", "/toolhost/call", harness.Obj{"tool": "dynamic_tool_create", "args": harness.Obj{
			"name": "files", "description": "Files", "schema": harness.Obj{"type": "object"}, "permissions": []string{"filesystem"},
			"code": "if (args.write) { await fs.writeFile(args.write, 'x'); return 'written'; } return await fs.readFile(args.read, 'utf8');",
		}})
		check.OK(t, err)
		return a.Status == 200
	})
	if got := call(harness.Obj{"read": m.Path("work/mine.txt")}); !strings.Contains(got, "mine") || strings.Contains(got, "isError") {
		t.Errorf("a granted file: %s", got)
	}
	for _, path := range []string{"state/ledger.db", "state/tools/files.ts", "run/api.sock", "run/tools.json", "home/.config/bareclaw/notes.md", "work/../state/ledger.db"} {
		if got := call(harness.Obj{"read": m.Path(path)}); !strings.Contains(got, "out of reach") {
			t.Errorf("read %s: %s", path, got)
		}
	}
	for _, path := range []string{"state/tools/other.ts", "home/.config/bareclaw/.env", "state/stopped.json", "state/snapshots/x"} {
		if got := call(harness.Obj{"write": m.Path(path)}); !strings.Contains(got, "out of reach") && !strings.Contains(got, "no such file") {
			t.Errorf("write %s: %s", path, got)
		}
		if len(m.Glob(path)) > 0 {
			t.Errorf("%s was written", path)
		}
	}
}

// TestSendRootAroundSettings: nothing of ~/.config is sent, whatever BARECLAW_SEND_ROOTS says.
func TestSendRootAroundSettings(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t)
	p.Signal(syscall.SIGTERM)
	p.WaitEnd()
	p.File(p.Path("home/.config/app/secret.txt"), []byte("secret"))
	p.Set("BARECLAW_SEND_ROOTS=" + p.Path("home/.config"))
	p.Gateway = p.Machine.Start()
	for _, name := range []string{"home/.config/app/secret.txt", "home/.config/bareclaw/notes.md"} {
		p.Send("tg-7", p.File(p.Path(name), []byte("secret")), "", "", 400).Refused(t, name, 400, "bad_media")
	}
}
