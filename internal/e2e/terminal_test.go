package e2e

import (
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

func TestSendShowsWhatTheAgentIsAt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	term := m.display("send", "desk", "toolwait "+m.path("go"))
	m.eventually("the tool is shown", func() bool { return strings.Contains(term.written(), "  Bash: ") })
	m.command(exitcode.OK, "restart")
	m.touch("go")
	screen := term.exits(exitcode.OK)
	_, last, ok := cutLast(screen, "\r\x1b[K")
	if !ok || !strings.HasPrefix(last, "final: ") || strings.Contains(last, "\x1b") {
		t.Errorf("the terminal does not end with the answer alone, but with %q", last)
	}
	for drawn := range strings.SplitSeq(screen, "\r\x1b[K") {
		if line := escapes.ReplaceAllString(drawn, ""); !strings.Contains(line, "\n") && len([]rune(line)) >= terminalColumns {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	g.balanced()
}

// cutLast cuts around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestCtrlCInATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	term := m.display("send", "desk", "wait "+m.path("go"))
	m.eventually("it is waited", func() bool {
		_, now, _ := cutLast(term.written(), "\r\x1b[K")
		_, doing, _ := strings.Cut(now, "s  ")
		return len(doing) > len("sends") && !strings.HasPrefix(doing, "sends") && m.begun("wait") == 1 // the message is known
	})
	term.types(keyCtrlC)
	screen := term.exits(exitcode.Interrupted)
	id := regexp.MustCompile(`bareclaw trace (\S+)`).FindStringSubmatch(screen)
	if id == nil {
		t.Fatalf("the screen is %q", screen)
	}
	m.touch("go")
	g.outcome(id[1]).want(t, "waited for "+m.path("go"))
}

func TestStatusHasColoursOnATerminalOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("desk", "echo x")
	coloured := m.display("status").exits(exitcode.OK)
	if !strings.Contains(coloured, "\x1b[32mok, version") {
		t.Errorf("the screen is %q", coloured)
	}
	plainly := escapes.ReplaceAllString(coloured, "")
	for line := range strings.Lines(plainly) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > terminalColumns {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	m.env = append(m.env, "NO_COLOR=1")
	if screen := m.display("status").exits(exitcode.OK); strings.Contains(screen, "\x1b") {
		t.Errorf("colours although nobody wants any: %q", screen)
	}
	m.command(exitcode.OK, "status") // which looks for control characters
}
