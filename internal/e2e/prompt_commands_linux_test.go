package e2e

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPromptsFitTheTerminal: a prompt is one line, of the width that there is.
func TestPromptsFitTheTerminal(t *testing.T) {
	t.Parallel()
	const wide = 72
	m := newMachine(t, "BARECLAW_APPROVALS=ask", "NO_COLOR=1", "TERM=xterm")
	g := m.start()
	long := strings.Repeat("日本 and so on\n", 200)
	answered := g.say(colourChannel, "echo short\nfirst "+long).str("message_id")
	g.tell("ops", "tool 0 ask ls "+long)
	id := g.asked(1)[0].str("id")
	waiting := g.tell("ops", "second "+long)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"echo short first", []string{"messages", colourChannel}},
		{"echo short first 日本 and so on", []string{"trace", answered}},
		{"tool 0 ask ls", []string{"approvals"}},
		{"tool 0 ask ls", []string{"approvals", "show", id}},
		{"Cancelled " + waiting + ": second 日本", []string{"cancel", waiting}},
	} {
		said := strings.ReplaceAll(m.onTerminal(wide, c.args...), "\r\n", "\n")
		if !strings.Contains(said, c.says) || strings.ContainsFunc(said, commandsTerminal) {
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
	said := m.onTerminal(wide, "send", colourChannel, "echo "+coloured)
	if !strings.Contains(said, coloursShown) || strings.Contains(said, "\x1b[31m") {
		t.Errorf("on a terminal, send says %q", said)
	}
}
