package docs

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/cli"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// needBash skips a test, loudly, where commands of documents cannot be run.
func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("NOT TESTED: the commands of the docs need bash, which is not installed")
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
	printed := harness.Printed(t, "docs/schedules.md", "bareclaw schedule add tg-12345")
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
	upgrade, rollback, _ := strings.Cut(harness.Printed(t, "docs/upgrade.md", "bareclaw upgrade --from"), "\n")
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
	lines := harness.Replaced(t, harness.Printed(t, "docs/upgrade.md", "bareclaw backup FILE"), " FILE", " "+m.Path("backup.tar.gz"))
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

// TestToolsPage makes, calls, changes and rolls back the tool of docs/tools.md, and gives a channel
// tools of its own.
func TestToolsPage(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := harness.NewMachine(t)
	m.Installed()
	g := m.Start()
	g.Eventually("tools are there", func() bool { return strings.Contains(m.Log.String(), "tool host ready") })
	m.AsPrinted(harness.Printed(t, "docs/tools.md", "bareclaw tools new"))
	file := m.Path("state/tools/reverse_string.ts")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, b := range harness.Blocks(t, "docs/tools.md") {
		if b.Lang == "ts" {
			source = b.Text
		}
	}
	check.OK(t, os.WriteFile(file, []byte(source), 0o600))
	call := harness.Printed(t, "docs/tools.md", "bareclaw tools call")
	says := func(want string) {
		t.Helper()
		g.Eventually("the tool says "+want, func() bool {
			out, _, status := m.Run("tools", "call", "reverse_string", `{"text": "héllo"}`)
			return status == 0 && strings.Contains(out, want)
		})
	}
	says("olléh")
	if out := m.AsPrinted(call); !strings.Contains(out, "olléh") {
		t.Errorf("the page's call says %q", out)
	}
	commands := harness.Printed(t, "docs/tools.md", "bareclaw tools snapshot ")
	keep, rollback, _ := strings.Cut(commands, "bareclaw tools rollback")
	listed := m.AsPrinted(keep)
	id := regexp.MustCompile(`before_experiment_[0-9]+`).FindString(listed)
	if id == "" {
		t.Fatalf("no snapshot in\n%s", listed)
	}
	check.OK(t, os.WriteFile(file, []byte(strings.Replace(source, ".reverse()", "", 1)), 0o600))
	says("héllo")
	m.AsPrinted(harness.Replaced(t, "bareclaw tools rollback"+rollback, "before_experiment_1706012345679", "--yes "+id))
	says("olléh")
	analyze := harness.Printed(t, "docs/tools.md", "bareclaw tools call analyze_intent")
	if out := m.AsPrinted(analyze); !strings.Contains(out, "object_diff") || !strings.Contains(out, "push_send") {
		t.Errorf("the page's analysis says %q", out)
	}
	harness.NeedCurl(t)
	list := harness.Replaced(t, harness.Printed(t, "docs/tools.md", "curl"), "localhost:3000", g.Base)
	if out := m.AsPrinted(list); !strings.Contains(out, `"name":"json_format"`) || strings.Contains(out, `"name":"push_send"`) {
		t.Errorf("the page's bag has %q", out)
	}
	set, reset, _ := strings.Cut(harness.Printed(t, "docs/tools.md", "bareclaw channels set"), "\n")
	m.AsPrinted(set)
	if own := g.Channel("desk").Str("tools"); own != "channel_list,json_format" {
		t.Errorf("the channel has the tools %q", own)
	}
	m.AsPrinted(reset)
	if own := g.Channel("desk").Str("tools"); own != "" {
		t.Errorf("the channel still has the tools %q", own)
	}
}

// TestEverydayCommandsAsPrinted runs all commands of docs/commands.md, docs/trouble.md and docs/heartbeat.md that
// have no test of their own, line by line.
func TestEverydayCommandsAsPrinted(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := harness.NewMachine(t)
	m.Installed()
	m.Write("home/.claude/.credentials.json", "{}", 0o600) // or doctor says that nobody is logged in
	g := m.Start()
	ran := 0
	text, err := os.ReadFile("docs/commands.md")
	check.OK(t, err)
	for _, b := range slices.Concat(harness.Blocks(t, "docs/commands.md"), harness.Blocks(t, "docs/trouble.md"), harness.Blocks(t, "docs/heartbeat.md")) {
		if !b.IsCommand() || b.Marker != "" {
			continue
		}
		for line := range strings.Lines(b.Text) {
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", line)
			cmd.Env, cmd.Dir = m.Env, m.Path("work")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			cancel()
		}
	}
	if ran < 10 {
		t.Errorf("%d commands", ran)
	}
	if n := m.Begun("capital of France"); n != 1 {
		t.Errorf("the question was asked %d times", n)
	}
	if g.Balanced() != 5 {
		t.Error("not as many messages as are sent there")
	}
	for _, status := range strings.Split(cli.ExitStatuses, ";") {
		words := strings.Fields(strings.TrimPrefix(status, "Exit status: "))
		if !strings.Contains(string(text), "\n| "+words[0]+" | ") {
			t.Errorf("the exit status %s of the help is not in the table", words[0])
		}
	}
}
