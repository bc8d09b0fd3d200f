package realclaude

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// backgrounds returns the texts of the channel's background results, newest first.
func backgrounds(g *harness.RealGateway, key string) (texts []string) {
	g.T.Helper()
	all, _ := g.Must("GET", "/channels/"+key+"/messages", nil, 200).JSON["background"].([]any)
	for _, b := range all {
		texts = append(texts, fmt.Sprint(b.(map[string]any)["text"]))
	}
	return texts
}

// Claude's own schedules would spend money without a message: claude does not have their tools.
func TestRealSchedulesOfClaudesOwnAreNotOffered(t *testing.T) {
	m, g := harness.StartReal(t)
	a := g.Say("http", `tool:CronCreate {"cron":"* * * * *","prompt":"echo LOOP tick","recurring":true}`)
	if !strings.Contains(a.Str("text"), "No such tool") {
		t.Errorf("the call of CronCreate says %s", a.Body)
	}
	for _, tool := range []string{"CronCreate", "CronDelete", "CronList", "ScheduleWakeup"} {
		if slices.Contains(m.Last().Tools, tool) {
			t.Errorf("claude is offered %s", tool)
		}
	}
	if !strings.Contains(m.Last().System, "CronCreate") || !strings.Contains(m.Last().System, "schedule_create") {
		t.Error("the prompt does not say what takes the place of CronCreate")
	}
}

// Sessions cannot prompt each other. Claude tells the sender of the refused message in a turn of its
// own, whose result names nobody: it is told, recorded and counted.
func TestRealSessionsDoNotPromptEachOther(t *testing.T) {
	m, g := harness.StartReal(t)
	g.Say("b", "echo hello")
	socket := m.Path(fmt.Sprintf("tmp/cc-socks/%.0f.sock", g.Agent("b")))
	m.Eventually("the socket of b", func() bool { _, err := os.Stat(socket); return err == nil })
	events := g.Watch("a")
	a := g.Say("a", `tool:SendMessage {"to":"uds:`+socket+`","message":"echo hello from a","summary":"greet"}`)
	g.Hear(events, "event: background")
	if got := backgrounds(g, "a"); len(got) != 1 || !strings.Contains(got[0], "refused") {
		t.Errorf("a was told %q", got)
	}
	if got := backgrounds(g, "b"); len(got) != 0 {
		t.Errorf("b was told %q", got)
	}
	for _, r := range m.Requests() {
		if r.Text == "echo hello from a" {
			t.Errorf("b's claude answered %q", r.Text)
		}
	}
	next := g.Say("a", "echo next")
	cost := func(a harness.Answer) float64 { return a.Number("cost_usd") }
	if cost(next) > 1.5*cost(a) { // else the turn in between is charged to the next message
		t.Errorf("the next message cost %v, the first one with two requests %v", cost(next), cost(a))
	}
}

// A Stop hook that always blocks makes claude end the turn without a result: the answer is what it
// said before, and claude's warning is a notice.
func TestRealStopHookThatBlocks(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t)
	check.OK(t, errors.Join(os.MkdirAll(m.Path("home/claude-config"), 0o700), os.WriteFile(m.Path("home/claude-config/settings.json"),
		[]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo 'not done yet' >&2; exit 2"}]}]}}`), 0o600)))
	g := m.Start()
	a := g.Say("http", "echo the answer is 42")
	a.Want(t, "the answer is 42")
	if !strings.Contains(string(a.Body), "claude_warning") || !strings.Contains(string(a.Body), "hook blocked the turn from ending") {
		t.Errorf("no notice of claude's warning: %s", a.Body)
	}
}

// Commands of claude's that worked say so.
func TestRealCommandsSayThatTheyWorked(t *testing.T) {
	_, g := harness.StartReal(t)
	g.Say("http", "echo hello")
	g.Say("http", "/compact").Want(t, "Compacted.")
	g.Say("http", "/clear").Want(t, "A new conversation has begun.")
	g.Say("http", "echo again").Want(t, "again")
}

// A background command is named while it runs, and after it was lost with its session.
func TestRealLostBackgroundCommand(t *testing.T) {
	m, g := harness.StartReal(t)
	g.Say("http", `tool:bash {"command":"sleep 301","description":"wait long","run_in_background":true}`)
	if tasks := fmt.Sprint(g.Channel("http").JSON["background_tasks"]); tasks != "[wait long]" {
		t.Errorf("in the background: %s", tasks)
	}
	if status := m.Command(0, "status").Out.String(); !strings.Contains(status, "wait long") {
		t.Errorf("status: %s", status)
	}
	g.End("http")
	g = m.Start()
	g.Say("http", "echo next").Want(t, "next")
	if got := backgrounds(g, "http"); len(got) != 1 || got[0] != "The background command `sleep 301` did not finish: its session ended." {
		t.Errorf("told %q", got)
	}
}
