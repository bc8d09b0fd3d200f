package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// These tests run commands as the documents print them. Words in capitals stand for what
// a person puts there.

// asPrinted runs commands on the machine, where bareclaw is on the PATH, and returns what they print.
func (m *machine) asPrinted(lines string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", lines)
	cmd.Env, cmd.Dir = m.env, m.path("work")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s%v\n%s", lines, err, out)
	}
	return string(out)
}

// needBash skips a test, loudly, where commands of documents cannot be run.
func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("NOT TESTED: the commands of docs/operations.md need bash, which is not installed")
	}
}

// replaced returns the text with the old one replaced, which must be there.
func replaced(t testing.TB, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	return strings.ReplaceAll(text, old, by)
}

func TestScheduleCommandsAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(12345, "Anna", "Arden", "anna")
	api.Private(anna)
	m := newMachine(t, botSettings(api, anna)...)
	m.installed()
	// The precheck of the page is made over TCP: the socket does not take it.
	m.env = append(m.env, "BARECLAW_PORT="+freePort(t), "BARECLAW_HTTP_TOKEN="+token)
	g := m.start().bearer()
	printed := printed(t, "docs/operations.md", "bareclaw schedule add tg-12345")
	add, rest, _ := strings.Cut(printed, "bareclaw schedule list")
	m.asPrinted(add)
	schedules := g.must("GET", "/schedules", nil, 200).array("schedules")
	if len(schedules) != strings.Count(add, "\n") {
		t.Fatalf("%d schedules of\n%s", len(schedules), add)
	}
	id := schedules[0].str("id")
	out := m.asPrinted(replaced(t, "bareclaw schedule list"+rest, " ID", " "+id))
	for _, s := range schedules {
		if !strings.Contains(out, s.str("id")) {
			t.Errorf("schedule %s is not listed:\n%s", s.str("id"), out)
		}
	}
	if left := g.must("GET", "/schedules", nil, 200).array("schedules"); len(left) != len(schedules)-1 {
		t.Errorf("%d schedules are left", len(left))
	}
	g.must("GET", "/schedules/"+id, nil, 404)
}

func TestUpgradeAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := newMachine(t)
	m.install("v1", "1s")
	m.env = append(m.env, "PATH="+m.path("bin")+":"+os.Getenv("PATH"))
	g := m.start()
	copyProgram(t, releaseOf(t, "v2"), m.path("work/bareclaw-v1.3.0"))
	upgrade, rollback, _ := strings.Cut(printed(t, "docs/operations.md", "bareclaw upgrade --from"), "\n")
	m.asPrinted(upgrade)
	g.serves("v2")
	m.asPrinted(rollback)
	g.serves("v1")
	g.say("http", "echo still here").want(t, "still here")
	g.balanced()
}

func TestBackupAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	m, other := newMachine(t), newMachine(t)
	m.installed()
	other.installed()
	g := m.start()
	id := g.say("http", "echo kept").str("message_id")
	lines := replaced(t, printed(t, "docs/operations.md", "bareclaw backup FILE"), " FILE", " "+m.path("backup.tar.gz"))
	backup, restore, _ := strings.Cut(lines, "\n")
	m.asPrinted(backup)
	g.signal(syscall.SIGINT)
	other.asPrinted(restore)
	g = other.start()
	g.must("GET", "/messages/"+id, nil, 200).want(t, "kept")
	if n := g.balanced(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
