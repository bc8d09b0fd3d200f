package security

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// strangersBackup makes a backup on a machine whose settings, channels, schedules, tools and notes
// decide what is run, and returns its path.
func strangersBackup(t *testing.T) string {
	t.Helper()
	m := harness.NewMachine(t)
	m.Write("home/.config/bareclaw/.env", "BARECLAW_TRANSCRIBE=evil-transcriber\nBARECLAW_HTTP_TOKEN="+harness.Token+"\nBARECLAW_MAX_TURNS=7\n"+
		"BARECLAW_TEST_WRAP=evil-wrapper\nLD_PRELOAD=/tmp/evil.so\nBARECLAW_TOOL_GRANTS=filesystem:/\nBARECLAW_HEARTBEAT_MESSAGE=\"ask\u202E me\"\n", 0o600)
	m.Write("home/.config/bareclaw/notes.md", "evil notes", 0o600)
	m.Write("home/.config/bareclaw/mcp.json", `{"mcpServers": {"evil": {"command": "evil-server", "args": ["--all of it"], "env": {"KEY": "sesame"}, "disabled": true}, "odd": {"command": 1}}}`, 0o600)
	m.Set("BARECLAW_TEST_WRAP=", "BARECLAW_TRANSCRIBE=", "LD_PRELOAD=", "BARECLAW_APPROVALS=ask") // of this gateway itself
	m.Write("state/tools/made.ts", "export const tool = { name: 'made', description: 'Made', schema: { type: 'object' }, handler() { return {}; } };\n", 0o600)
	g := m.Start().Bearer()
	g.Say("http", "hello").Want(t, "ok: hello")
	g.Must("PATCH", "/channels/boss", harness.Obj{"permission_mode": "bypassPermissions"}, 200)
	g.Must("POST", "/schedules", harness.Obj{"channel": "boss", "text": "do something", "when": "every 2h", "precheck": "evil-precheck"}, 201)
	asking := g.Tell("boss", "tool 0 ask evil")
	m.Command(harness.ExitOK, "approvals", "allow", g.Asked(1)[0].Str("id"), "--always")
	g.Outcome(asking)
	g.Tell("busy", "wait "+m.Path("never"))
	m.Eventually("a turn runs", func() bool { return m.Begun("wait") == 1 })
	g.Tell("busy", "an evil\u200B request"+strings.Repeat(" and more", 1000))
	m.Eventually("the first state of the tools is kept", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	m.Command(harness.ExitOK, "backup", m.Path("backup.tar.gz"))
	return m.Path("backup.tar.gz")
}

// TestRestoreAsks restores the backup of a stranger: what it decides is listed before anything is
// in place. Without a terminal nothing is put in place without --yes, at one not without a yes.
func TestRestoreAsks(t *testing.T) {
	t.Parallel()
	file := strangersBackup(t)
	m := harness.NewMachine(t)
	before := files(m)
	shown := []string{
		"BARECLAW_TRANSCRIBE=evil-transcriber", "BARECLAW_TEST_WRAP=evil-wrapper", "BARECLAW_HTTP_TOKEN (a secret)", "BARECLAW_TOOL_GRANTS=filesystem:/",
		"LD_PRELOAD (a variable of all programs", `\u{202E}`, "boss: bypassPermissions", "runs `evil-precheck`, then says do something", "tools/made.ts", "notes.md",
		"boss: Bash(ask *)", `busy: an evil\u{200B} request and more`, "busy: wait " + filepath.Dir(file) + "/never", `busy: {"type":"user"`, "initial_", " (1 file)",
		"evil: evil-server '--all of it'", "evil: with the variables KEY", `server "odd"`,
	}
	i := m.Command(harness.ExitFailure, "restore", file).Tells(append(shown, "nothing was put in place", "--yes")...)
	if said := i.Out.String() + i.Err.String(); strings.Contains(said, harness.Token) || strings.Contains(said, "sesame") || strings.Contains(said, "MAX_TURNS") || len(said) > 5000 {
		t.Errorf("a secret is shown, what decides nothing, or a whole message: %s", said)
	}
	if after := files(m); after != before {
		t.Errorf("something was put in place:\n%s\nwas\n%s", after, before)
	}

	x := m.Displayed(m.Prepare("restore", file))
	x.Expect("evil-transcriber")
	x.Answer("Restore all of it?", "n")
	x.Expect("nothing was done")
	x.Exits(harness.ExitFailure)
	if after := files(m); after != before {
		t.Errorf("something was put in place:\n%s\nwas\n%s", after, before)
	}
	m.Command(harness.ExitOK, "restore", "--yes", file).Tells(shown...).Shows("Restored")
	m.Command(harness.ExitOK, "restore", "--force", "--yes", file) // the settings are those that are there
}

// TestRestoreOfNothingThatActs asks nobody.
func TestRestoreOfNothingThatActs(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Write("work/.env", "BARECLAW_MAX_TURNS=7\n", 0o600)
	g := m.Start()
	g.Say("http", "hello").Want(t, "ok: hello")
	m.Eventually("the first state of the tools, which are none, is kept", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	g.Signal(syscall.SIGINT)
	m.Command(harness.ExitOK, "backup", m.Path("backup.tar.gz"))
	m.Command(harness.ExitOK, "restore", "--force", m.Path("backup.tar.gz")).Shows("Restored")
}

// files lists what is in the places that a restore writes to.
func files(m *harness.Machine) string {
	m.T.Helper()
	var all []string
	for _, pattern := range []string{"state/*", "work/.*", "home/.config/bareclaw/*", "home/.config/bareclaw/.*"} {
		all = append(all, m.Glob(pattern)...)
	}
	return strings.Join(all, "\n")
}
