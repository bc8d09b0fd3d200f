package command

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

func TestSendShowsWhatTheAgentIsAt(t *testing.T) {
	m, g := harness.Started(t)
	term := display(m, "send", "desk", "toolwait "+m.Path("go"))
	m.Eventually("the tool is shown", func() bool { return strings.Contains(term.Written(), "  Bash: ") })
	m.Command(exitcode.OK, "restart")
	m.Touch("go")
	screen := term.Exits(exitcode.OK)
	_, last, ok := cutLast(screen, "\r\x1b[K")
	if !ok || !strings.HasPrefix(last, "final: ") || strings.Contains(last, "\x1b") {
		t.Errorf("the terminal does not end with the answer alone, but with %q", last)
	}
	for drawn := range strings.SplitSeq(screen, "\r\x1b[K") {
		if line := harness.Escapes.ReplaceAllString(drawn, ""); !strings.Contains(line, "\n") && len([]rune(line)) >= harness.TerminalColumns {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	g.Balanced()
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
	m, g := harness.Started(t)
	term := display(m, "send", "desk", "wait "+m.Path("go"))
	m.Eventually("it is waited", func() bool {
		_, now, _ := cutLast(term.Written(), "\r\x1b[K")
		_, doing, _ := strings.Cut(now, "s  ")
		return len(doing) >= len("Working") && !strings.HasPrefix(doing, "Sending") && m.Begun("wait") == 1 // the message is known
	})
	term.Types(harness.KeyCtrlC)
	screen := term.Exits(exitcode.Interrupted)
	id := regexp.MustCompile(`bareclaw trace (\S+)`).FindStringSubmatch(screen)
	if id == nil {
		t.Fatalf("the screen is %q", screen)
	}
	m.Touch("go")
	g.Outcome(id[1]).Want(t, "waited for "+m.Path("go"))
}

func TestStatusHasColoursOnATerminalOnly(t *testing.T) {
	m, g := harness.Started(t)
	g.Say("desk", "echo x")
	coloured := display(m, "status").Exits(exitcode.OK)
	if !strings.Contains(coloured, "\x1b[32mok, version") {
		t.Errorf("the screen is %q", coloured)
	}
	plainly := harness.Escapes.ReplaceAllString(coloured, "")
	for line := range strings.Lines(plainly) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > harness.TerminalColumns {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	m.Env = append(m.Env, "NO_COLOR=1")
	if screen := display(m, "status").Exits(exitcode.OK); strings.Contains(screen, "\x1b") {
		t.Errorf("colours although nobody wants any: %q", screen)
	}
	m.Command(exitcode.OK, "status") // which looks for control characters
}

// display runs a command of the program on the machine, in its work directory.
func display(m *harness.Machine, args ...string) *harness.Display {
	m.T.Helper()
	cmd := exec.Command(m.Executable(), args...)
	cmd.Dir, cmd.Env = m.Path("work"), append([]string{"TERM=xterm-256color"}, m.Env...)
	return m.Displayed(cmd)
}

// TestMistypedChannelIsAskedAbout: at a terminal, a name that is like that of a channel makes another
// channel only if the person says so; a number that differs is another name.
func TestMistypedChannelIsAskedAbout(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("desk", "echo hi")
	g.Say("job1", "echo hi")
	no := display(m, "send", "dekc", "echo hi")
	no.Sees("There is no channel dekc yet, but there is desk. Make dekc? [y/N]")
	no.Enters("n")
	if said := no.Exits(exitcode.Failed); !strings.Contains(said, "the channel that is there is desk") {
		t.Errorf("after a no: %q", said)
	}
	yes := display(m, "send", "dekc", "echo hi")
	yes.Sees("Make dekc? [y/N]")
	yes.Enters("y")
	yes.Exits(exitcode.OK)
	for _, known := range []string{"dekc", "job2", "elsewhere"} {
		display(m, "send", known, "echo hi").Exits(exitcode.OK)
	}
	if all := g.Must("GET", "/channels", nil, 200).Array("channels"); len(all) != 5 {
		t.Errorf("the channels are %v", all)
	}
}
