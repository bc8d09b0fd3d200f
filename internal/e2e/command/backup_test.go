package command

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// does runs a command of the program and fails unless it ends so and says that.
func does(m *harness.Machine, status int, says string, args ...string) {
	m.T.Helper()
	m.Invoke(nil, args...).Says(status, says)
}

func wantFile(m *harness.Machine, name, text string) {
	m.T.Helper()
	if b, err := os.ReadFile(m.Path(name)); err != nil || string(b) != text {
		m.T.Errorf("%s is %q (%v), want %q", name, b, err, text)
	}
}

// TestBackupAndRestore saves a gateway that works, and brings it back: on another
// machine, and on one where there is something already.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	const settings = "BARECLAW_MAX_TURNS=7\nBARECLAW_HTTP_TOKEN=\n"
	m.Write("work/.env", settings, 0o600)
	m.Write("home/.config/bareclaw/notes.md", "likes tea", 0o600)
	const servers = `{"mcpServers": {"odd": {"command": "odd", "disabled": true}}}`
	m.Write("home/.config/bareclaw/mcp.json", servers, 0o600)
	m.Write("home/.config/bareclaw/.env", "BARECLAW_QUEUE_LIMIT=9\n", 0o600)
	m.Write("state/media/tg-1/a.jpg", "picture", 0o600)
	const tool = "export const tool = { name: 'kept', description: 'Kept', schema: { type: 'object' }, handler() { return {}; } };\n"
	m.Write("state/tools/kept.ts", tool, 0o600)
	file := m.Path("backup.tar.gz")
	does(m, harness.ExitFailure, "nothing to back up", "backup", file)
	g := m.Start()
	first := g.Say("http", "echo one").Str("message_id")
	running := g.Tell("busy", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	m.Eventually("the first state of the tools is kept", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	does(m, harness.ExitOK, "1 file of tools, 2 files of tools' snapshots, 1 file received", "backup", "--media", file)
	does(m, harness.ExitOK, `"saved":["the ledger","session ids","Claude's notes","mounted servers with their secrets",`, "backup", "--json", m.Path("other.tar.gz"))
	does(m, harness.ExitFailure, "is there already", "backup", file)
	does(m, harness.ExitUsage, "give it a name", "backup", "-")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v", info, err)
	}
	does(m, harness.ExitFailure, "end that first, with `bareclaw stop`", "restore", "--yes", file)
	m.Touch("go")
	g.Outcome(running)
	later := g.Say("http", "echo two").Str("message_id")
	g.Signal(syscall.SIGTERM)
	does(m, harness.ExitFailure, "`bareclaw stop --sessions`", "restore", "--yes", "--force", file)
	does(m, harness.ExitOK, "Ended", "stop", "--sessions")
	does(m, harness.ExitFailure, "is there already; with --force", "restore", "--yes", file)
	if i := m.Command(harness.ExitFailure, "restore", file).Tells("is there already; with --force"); strings.Contains(i.Err.String(), "This backup decides") {
		t.Errorf("it asks before it refuses: %s", i.Err.String())
	}
	m.Write("work/.env", "BARECLAW_MAX_TURNS=8\n", 0o600)
	m.Write("state/tools/later.ts", tool, 0o600)
	does(m, harness.ExitFailure, "work/.env is there already", "restore", "--yes", file)
	does(m, harness.ExitOK, "The same already, and left alone: settings with their secrets, snapshots of tools, session ids, Claude's notes, mounted servers with their secrets.\nWhat was moved aside is not used any more", "restore", "--yes", "--force", file)
	wantFile(m, "work/.env", settings)
	for _, pattern := range []string{"state/ledger.db.before-restore-*", "work/.env.before-restore-*", "state/media.before-restore-*/tg-1/a.jpg", "state/tools.before-restore-*/later.ts"} {
		if len(m.Glob(pattern)) != 1 {
			t.Errorf("%s: %v", pattern, m.Glob(pattern))
		}
	}
	if left := append(m.Glob("*/.bareclaw-restore-*"), m.Glob(".bareclaw-backup-*")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	other := harness.NewMachine(t)
	does(other, harness.ExitOK, `"restored":["settings of this directory with their secrets"`, "restore", "--yes", "--json", file)
	for _, m := range []*harness.Machine{m, other} {
		wantFile(m, "work/.env", settings)
		wantFile(m, "home/.config/bareclaw/notes.md", "likes tea")
		wantFile(m, "home/.config/bareclaw/mcp.json", servers)
		wantFile(m, "home/.config/bareclaw/.env", "BARECLAW_QUEUE_LIMIT=9\n")
		wantFile(m, "state/media/tg-1/a.jpg", "picture")
		wantFile(m, "state/tools/kept.ts", tool)
		if kept, later := m.Glob("state/snapshots/initial_*/tools/kept.ts"), m.Glob("state/tools/later.ts"); len(kept) != 1 || len(later) > 0 {
			t.Errorf("snapshots with the tool: %q; later tools: %q", kept, later)
		}
		g := m.Start()
		g.Must("GET", "/messages/"+first, nil, 200).Want(t, "one")
		g.Must("GET", "/messages/"+later, nil, 404)
		g.Outcome(running) // it ran when it was saved: it has one outcome here, too
		g.Say("http", "echo three").Want(t, "three")
		g.Balanced()
	}
}

// TestRestoreRefuses leaves everything as it was.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Write("rubbish", "rubbish", 0o600)
	does(m, harness.ExitFailure, "no such file", "restore", m.Path("none"))
	does(m, harness.ExitFailure, "backup: ", "restore", m.Path("rubbish"))
	does(m, harness.ExitUsage, "which file?", "restore")
	older := harness.NewMachine(t)
	older.Start().Signal(syscall.SIGINT)
	check.OK(t, setSchema(older.Path("state/ledger.db"), 7))
	does(older, harness.ExitOK, "", "backup", m.Path("older.tar.gz"))
	does(m, harness.ExitFailure, "use the older bareclaw that wrote it", "restore", m.Path("older.tar.gz"))
	if files := m.Glob("state/*"); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// setSchema changes the schema version of a ledger that is not open.
func setSchema(path string, version int) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(fmt.Sprintf("PRAGMA user_version=%d", version))
	return errors.Join(err, db.Close())
}
