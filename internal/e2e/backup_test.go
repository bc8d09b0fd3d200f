package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// does runs a command of the program and fails unless it ends so and says that.
func (m *machine) does(status int, says string, args ...string) {
	m.t.Helper()
	r := m.commanded(args...)()
	if r.status != status || !strings.Contains(r.out+r.err, says) {
		m.t.Errorf("%v: status %d, want %d with %q:\n%s%s", args, r.status, status, says, r.out, r.err)
	}
}

func (m *machine) wantFile(name, text string) {
	m.t.Helper()
	if b, err := os.ReadFile(m.path(name)); err != nil || string(b) != text {
		m.t.Errorf("%s is %q (%v), want %q", name, b, err, text)
	}
}

// TestBackupAndRestore saves a gateway that works, and brings it back: on another
// machine, and on one where there is something already.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const settings = "BARECLAW_MAX_TURNS=7\nBARECLAW_HTTP_TOKEN=\n"
	m.write("work/.env", settings, 0o600)
	m.write("home/.config/bareclaw/notes.md", "likes tea", 0o600)
	m.write("home/.config/bareclaw/.env", "BARECLAW_QUEUE_LIMIT=9\n", 0o600)
	m.write("state/media/tg-1/a.jpg", "picture", 0o600)
	file := m.path("backup.tar.gz")
	m.does(exitFailure, "nothing to back up", "backup", file)
	g := m.start()
	first := g.say("http", "echo one").str("message_id")
	running := g.tell("busy", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	m.does(exitOK, "1 received files", "backup", "--media", file)
	m.does(exitFailure, "is there already", "backup", file)
	m.does(exitUsage, "give it a name", "backup", "-")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v", info, err)
	}
	m.does(exitFailure, "end that first, with `bareclaw stop`", "restore", file)
	m.touch("go")
	g.outcome(running)
	later := g.say("http", "echo two").str("message_id")
	g.signal(syscall.SIGTERM)
	m.does(exitFailure, "`bareclaw stop --sessions`", "restore", "--force", file)
	m.does(exitOK, "Ended", "stop", "--sessions")
	m.does(exitFailure, "is there already; with --force", "restore", file)
	m.write("work/.env", "BARECLAW_MAX_TURNS=8\n", 0o600)
	m.does(exitFailure, "work/.env is there already", "restore", file)
	m.does(exitOK, "Moved aside", "restore", "--force", file)
	m.wantFile("work/.env", settings)
	for _, pattern := range []string{"state/ledger.db.before-restore-*", "work/.env.before-restore-*", "state/media.before-restore-*/tg-1/a.jpg"} {
		if len(m.glob(pattern)) != 1 {
			t.Errorf("%s: %v", pattern, m.glob(pattern))
		}
	}
	if left := append(m.glob("*/.bareclaw-restore-*"), m.glob(".bareclaw-backup-*")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	other := newMachine(t)
	other.does(exitOK, "the ledger", "restore", file)
	for _, m := range []*machine{m, other} {
		m.wantFile("work/.env", settings)
		m.wantFile("home/.config/bareclaw/notes.md", "likes tea")
		m.wantFile("home/.config/bareclaw/.env", "BARECLAW_QUEUE_LIMIT=9\n")
		m.wantFile("state/media/tg-1/a.jpg", "picture")
		g := m.start()
		g.must("GET", "/messages/"+first, nil, 200).want(t, "one")
		g.must("GET", "/messages/"+later, nil, 404)
		g.outcome(running) // it ran when it was saved: it has one outcome here, too
		g.say("http", "echo three").want(t, "three")
		g.balanced()
	}
}

// TestRestoreRefuses leaves everything as it was.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("rubbish", "rubbish", 0o600)
	m.does(exitFailure, "no such file", "restore", m.path("none"))
	m.does(exitFailure, "no backup", "restore", m.path("rubbish"))
	m.does(exitUsage, "expected", "restore")
	if files := m.glob("state/*"); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}
