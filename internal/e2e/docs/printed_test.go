package docs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// needBash skips a test, loudly, where commands of documents cannot be run.
func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("NOT TESTED: the commands of docs/operations.md need bash, which is not installed")
	}
}

func TestScheduleCommandsAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(12345, "Anna", "Arden", "anna")
	api.Private(anna)
	m := harness.NewMachine(t, harness.BotSettings(api, anna)...)
	m.Installed()
	// The precheck of the page is made over TCP: the socket does not take it.
	m.Env = append(m.Env, "BARECLAW_PORT="+harness.FreePort(t), "BARECLAW_HTTP_TOKEN="+harness.Token)
	g := m.Start().Bearer()
	printed := harness.Printed(t, "docs/operations.md", "bareclaw schedule add tg-12345")
	add, rest, _ := strings.Cut(printed, "bareclaw schedule list")
	m.AsPrinted(add)
	schedules := g.Must("GET", "/schedules", nil, 200).Array("schedules")
	if len(schedules) != strings.Count(add, "\n") {
		t.Fatalf("%d schedules of\n%s", len(schedules), add)
	}
	id := schedules[0].Str("id")
	out := m.AsPrinted(harness.Replaced(t, "bareclaw schedule list"+rest, " ID", " "+id))
	for _, s := range schedules {
		if !strings.Contains(out, s.Str("id")) {
			t.Errorf("schedule %s is not listed:\n%s", s.Str("id"), out)
		}
	}
	if left := g.Must("GET", "/schedules", nil, 200).Array("schedules"); len(left) != len(schedules)-1 {
		t.Errorf("%d schedules are left", len(left))
	}
	g.Must("GET", "/schedules/"+id, nil, 404)
}

func TestUpgradeAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	m.Env = append(m.Env, "PATH="+m.Path("bin")+":"+os.Getenv("PATH"))
	g := m.Start()
	harness.CopyProgram(t, harness.ReleaseOf(t, "v2"), m.Path("work/bareclaw-v1.3.0"))
	upgrade, rollback, _ := strings.Cut(harness.Printed(t, "docs/operations.md", "bareclaw upgrade --from"), "\n")
	m.AsPrinted(upgrade)
	g.Serves("v2")
	m.AsPrinted(rollback)
	g.Serves("v1")
	g.Say("http", "echo still here").Want(t, "still here")
	g.Balanced()
}

func TestBackupAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	m, other := harness.NewMachine(t), harness.NewMachine(t)
	m.Installed()
	other.Installed()
	g := m.Start()
	id := g.Say("http", "echo kept").Str("message_id")
	g.Balanced() // an outcome is told a moment before it is written down
	lines := harness.Replaced(t, harness.Printed(t, "docs/operations.md", "bareclaw backup FILE"), " FILE", " "+m.Path("backup.tar.gz"))
	backup, restore, _ := strings.Cut(lines, "\n")
	m.AsPrinted(backup)
	g.Signal(syscall.SIGINT)
	other.AsPrinted(restore)
	g = other.Start()
	g.Must("GET", "/messages/"+id, nil, 200).Want(t, "kept")
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
