package command

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// TestChannelIsRemoved: a channel goes with its history, settings and schedules, after those who wait
// were told; what it has cost stays.
func TestChannelIsRemoved(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	m.Command(exitcode.OK, "send", "desk", "echo one").Prints("one\n")
	m.Command(exitcode.OK, "channels", "set", "desk", "--model", "haiku")
	g.Schedule("desk", "echo later", "at 2031-01-31 09:00")
	_, _ = g.Occupy("desk")
	sent := m.Invoke(nil, "send", "desk", "echo never")
	g.Queued("desk", 1)
	account := func() map[string]any { return g.Must("GET", "/health", nil, 200).JSON["ledger"].(map[string]any) }
	before := account()["accepted"]
	m.Command(exitcode.Usage, "channels", "remove", "desk").Tells("--yes")
	m.Command(exitcode.OK, "channels", "usage", "desk").Shows("desk: $")
	m.Command(exitcode.OK, "channels", "remove", "desk", "--yes").Shows("Removed desk with 3 messages and 1 schedule.")
	sent.Wait(exitcode.Failed).Prints("").Tells("The conversation was closed")
	m.Command(exitcode.Failed, "channels", "show", "desk").Tells("no such channel")
	m.Command(exitcode.OK, "channels").Prints("")
	m.Command(exitcode.OK, "schedule").Shows("There are no schedules")
	if after := account(); after["accepted"] != before || after["balanced"] != true {
		t.Errorf("the account is %v", after)
	}
	m.Command(exitcode.OK, "send", "desk", "echo again").Prints("again\n")
	if model := m.Command(exitcode.OK, "channels", "show", "desk", "--json").Document().JSON["model"]; model != nil {
		t.Errorf("its model is %v still", model)
	}
}

// TestFileForClaude: on a channel without people behind it, a file is for Claude, who is told where it
// is; a file that is not there costs nothing.
func TestFileForClaude(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	m.Write("work/a b.pdf", "%PDF", 0o600)
	m.Command(exitcode.OK, "send", "desk", "echo sum this up", "--file", "a b.pdf").Prints("sum this up\n")
	m.Command(exitcode.OK, "send", "desk", "--ask", "--file", "a b.pdf", "--async")
	told := "(A file for you is at " + m.Path("work/a b.pdf") + ")"
	for i, want := range []string{told, "echo sum this up\n\n" + told} {
		id := g.Must("GET", "/channels/desk/messages", nil, 200).Array("messages")[i].Str("message_id")
		if got := g.Must("GET", "/messages/"+id+"/content", nil, 200).Str("text"); got != want {
			t.Errorf("claude gets %q, want %q", got, want)
		}
	}
	m.Command(exitcode.Failed, "send", "desk", "x", "--file", "none.pdf").Prints("").Tells("none.pdf")
	m.Command(exitcode.Failed, "send", "desk", "x", "--push", "--file", "a b.pdf").Prints("").Tells("bareclaw: nobody is behind this channel")
}

// TestSettingsCommand: what is in force is shown with where it comes from, of a running gateway and of
// one that does not run, and what a file says since its start.
func TestSettingsCommand(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	of := func(d harness.Answer, name string) [2]string {
		for _, s := range d.Array("settings") {
			if s.Str("name") == name {
				return [2]string{s.Str("value"), s.Str("source")}
			}
		}
		return [2]string{}
	}
	m.Command(exitcode.OK, "settings").Shows("The gateway does not run.", "BARECLAW_QUEUE_LIMIT", "Settings file: ")
	m.Start()
	file := m.Path("home/.config/bareclaw/.env")
	m.Write("home/.config/bareclaw/.env", "BARECLAW_QUEUE_LIMIT=7\n", 0o600)
	d := m.Command(exitcode.OK, "settings", "--json").Document()
	if got := of(d, "BARECLAW_QUEUE_LIMIT"); got != [2]string{"1000", "default"} {
		t.Errorf("the limit is %v", got)
	}
	if got := of(d, "BARECLAW_HTTP_TOKEN"); got != [2]string{"[redacted]", "the environment"} || strings.Contains(string(d.Body), harness.Token) {
		t.Errorf("the token is %v in %s", got, d.Body)
	}
	if pending := d.Array("pending"); len(pending) != 1 || pending[0].Str("source") != file {
		t.Errorf("to come are %v", pending)
	}
	m.Command(exitcode.OK, "config").Shows("BARECLAW_QUEUE_LIMIT=7, from the next `bareclaw restart` on")
	m.Command(exitcode.OK, "restart")
	if got := of(m.Command(exitcode.OK, "settings", "--json").Document(), "BARECLAW_QUEUE_LIMIT"); got != [2]string{"7", file} {
		t.Errorf("after a restart the limit is %v", got)
	}
}
