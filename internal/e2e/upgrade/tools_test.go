package upgrade

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// calling begins a turn of one call of a tool, which is made once the file is there.
func calling(g *harness.Gateway, channel, file string) (id string) {
	g.T.Helper()
	text := "mcp " + g.Path(file) + " channel_list {}"
	id = g.Tell(channel, text)
	g.Eventually("the turn on "+channel+" runs", func() bool { return g.Begun(text) == 1 })
	return id
}

// hasTools fails unless a call on the channel is carried out.
func hasTools(g *harness.Gateway, channel string) {
	g.T.Helper()
	wantChannel(g.T, g.Say(channel, "mcp - channel_list {}"), channel)
}

// wantChannel fails unless the outcome of a turn has the list of channels, with that channel.
func wantChannel(t testing.TB, a harness.Answer, channel string) {
	t.Helper()
	if !strings.Contains(a.Str("text"), `"channel":"`+channel+`"`) {
		t.Errorf("a call on %s ends with %s", channel, a.Body)
	}
}

// TestToolsForSessionsOfTheVersionBefore ends the version before in a turn, which this program
// takes over: the turn goes on with its tools, and ends with its one answer.
func TestToolsForSessionsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Program = harness.BareclawBefore(t)
			g := m.Start()
			id := calling(g, "busy", "go")
			host := m.Hosts()["busy"]
			g.Signal(sig)

			m.Program = ""
			g = m.Start()
			if now := m.Hosts()["busy"]; now != host {
				t.Errorf("the host was %+v and is %+v", host, now)
			}
			m.Touch("go")
			wantChannel(t, g.Outcome(id), "busy")
			hasTools(g, "busy")
			if n := m.Begun("mcp "); n != 2 {
				t.Errorf("%d turns were begun, want 2", n)
			}
			g.Balanced()
		})
	}
}

// TestToolsUnderTheVersionBefore takes an upgrade back in two turns: a call that waits, and one that
// is made later, are carried out, and both turns end with their one answer. After the next upgrade
// the same sessions have tools, and so has one that the version before has begun.
func TestToolsUnderTheVersionBefore(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			g := m.Start()
			hasTools(g, "late")
			early, late := calling(g, "early", "early"), calling(g, "late", "late")
			hosts := m.Hosts()
			g.Signal(sig)
			m.Touch("early")
			m.Eventually("claude waits for a tool", func() bool { return count(m, "call") == 2 })

			m.Program = harness.BareclawBefore(t)
			g = m.Start()
			wantChannel(t, g.Outcome(early), "early")
			if now := m.Hosts()["late"]; now != hosts["late"] {
				t.Errorf("the host was %+v and is %+v", hosts["late"], now)
			}
			m.Touch("late")
			wantChannel(t, g.Outcome(late), "late")
			hasTools(g, "new")
			g.Signal(sig)

			m.Program = ""
			g = m.Start()
			hasTools(g, "late")
			if now := m.Hosts()["late"]; now != hosts["late"] {
				t.Errorf("the host was %+v and is %+v", hosts["late"], now)
			}
			hasTools(g, "new")
			if n := m.Begun("mcp "); n != 6 {
				t.Errorf("%d turns were begun, want 6", n)
			}
			g.Balanced()
		})
	}
}

// count returns how often the machine's claudes did something.
func count(m *harness.Machine, event string) (n int) {
	m.T.Helper()
	for _, l := range m.Journal() {
		if l.Event == event {
			n++
		}
	}
	return n
}
