package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bareclaw/internal/e2e/harness"
)

// TestPromptsFitTheTerminal: a prompt is one line, of the width that there is.
func TestPromptsFitTheTerminal(t *testing.T) {
	t.Parallel()
	const wide = 72
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask", "NO_COLOR=1", "TERM=xterm")
	g := m.Start()
	long := strings.Repeat("日本 and so on\n", 200)
	answered := g.Say(harness.ColourChannel, "echo short\nfirst "+long).Str("message_id")
	g.Tell("ops", "tool 0 ask ls "+long)
	id := g.Asked(1)[0].Str("id")
	waiting := g.Tell("ops", "second "+long)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"echo short first", []string{"messages", harness.ColourChannel}},
		{"echo short first 日本 and so on", []string{"trace", answered}},
		{"tool 0 ask ls", []string{"approvals"}},
		{"tool 0 ask ls", []string{"approvals", "show", id}},
		{"Cancelled " + waiting + ": second 日本", []string{"cancel", waiting}},
	} {
		said := strings.ReplaceAll(m.OnTerminal(wide, c.args...), "\r\n", "\n")
		if !strings.Contains(said, c.says) || strings.ContainsFunc(said, harness.CommandsTerminal) {
			t.Errorf("%v says no %q: %q", c.args, c.says, said)
		}
		if c.args[0] == "approvals" && len(c.args) > 1 {
			continue // it shows all of what is asked for
		}
		for line := range strings.Lines(said) {
			if n := utf8.RuneCountInString(line) + strings.Count(line, "日本")*2; n > wide+1 {
				t.Errorf("%v: a line has %d cells: %q", c.args, n, line)
			}
		}
	}
	said := m.OnTerminal(wide, "send", harness.ColourChannel, "echo "+harness.Coloured)
	if !strings.Contains(said, harness.ColoursShown) || strings.Contains(said, "\x1b[31m") {
		t.Errorf("on a terminal, send says %q", said)
	}
}
