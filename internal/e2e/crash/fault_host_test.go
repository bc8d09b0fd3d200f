package crash

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestKilledInATurn kills the host, or more, in a turn: one that has not begun
// or was text only runs again, unnoticed but for the time it takes; one that had
// begun a tool is told as interrupted, with what had been done.
func TestKilledInATurn(t *testing.T) {
	t.Parallel()
	for victims, kill := range map[string]func(*harness.Gateway, harness.HostRecord) *harness.Gateway{
		"host": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.KillHost(h)
			return g
		},
		"daemon and host": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.Kill()
			g.KillHost(h)
			return g.Start()
		},
		"all": func(g *harness.Gateway, h harness.HostRecord) *harness.Gateway {
			g.Kill()
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			g.KillHost(h)
			return g.Start()
		},
	} {
		t.Run(victims, func(t *testing.T) {
			t.Parallel()
			t.Run("text", func(t *testing.T) { t.Parallel(); killedInText(t, kill) })
			t.Run("tool", func(t *testing.T) { t.Parallel(); killedInTool(t, kill) })
			t.Run("not begun", func(t *testing.T) { t.Parallel(); killedBeforeBegin(t, kill) })
		})
	}
}

func killedInText(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t)
	g := m.Start()
	session := g.Say("a", "session").Str("text")
	id := g.Tell("a", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
	g = kill(g, m.Hosts()["a"])
	m.Eventually("turn runs again", func() bool { return m.Begun("wait ") == 2 })
	m.Touch("go")
	g.Outcome(id).Want(t, "waited for "+m.Path("go"))
	g.Say("a", "session").Want(t, session)
	if n := m.Begun("wait "); n != 2 {
		t.Errorf("turn was begun %d times", n)
	}
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
	g.EndsAll()
}

func killedInTool(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t)
	g := m.Start()
	session := g.Say("a", "session").Str("text")
	id := g.Tell("a", "toolwait "+m.Path("go"))
	m.Eventually("tool runs", func() bool { return tools(m, "go") == 1 })
	g = kill(g, m.Hosts()["a"])
	g.Outcome(id).Failed(t, "interrupted", "Bash", m.Path("go"), "not finished", "not run again")
	m.Touch("go")
	g.Say("a", "session").Want(t, session)
	if n := tools(m, "go"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}

func killedBeforeBegin(t *testing.T, kill func(*harness.Gateway, harness.HostRecord) *harness.Gateway) {
	m := harness.NewMachine(t, "FAKECLAUDE_START=noinit")
	m.Env = append(m.Env, "FAKECLAUDE_START_ONCE="+m.Path("once"))
	g := m.Start()
	id := g.Tell("a", "tool 0 once-only")
	m.Eventually("turn waits in the host", func() bool {
		_, err := os.Stat(m.Path("once"))
		return err == nil && g.Must("GET", "/messages/"+id, nil, 200).Str("state") == "running" && m.Hosts()["a"].ClaudePID > 0
	})
	g = kill(g, m.Hosts()["a"])
	g.Outcome(id).Want(t, "final: ran: once-only")
	if n := tools(m, "once-only"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}

// tools returns how many tool calls with s in their command were run.
func tools(m *harness.Machine, s string) int {
	m.T.Helper()
	n := 0
	for _, l := range m.Journal() {
		if l.Event == "tool" && strings.Contains(l.Text, s) {
			n++
		}
	}
	return n
}
