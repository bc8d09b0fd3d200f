package tools

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// calls begins a turn that calls a tool, and returns once claude waits for it.
func calls(g *harness.Gateway, channel, call string) (id string) {
	g.T.Helper()
	before := done(g.Machine, "call")
	id = g.Tell(channel, "mcp - "+call)
	g.Eventually("claude waits for the tool", func() bool { return done(g.Machine, "call") > before })
	return id
}

// TestCallOverDaemons ends the daemon while claude waits for a tool, in each way, and has another
// call made while there is none: the next daemon answers both, once.
func TestCallOverDaemons(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(g *harness.Gateway) *harness.Gateway{
		"killed":      func(g *harness.Gateway) *harness.Gateway { g.Kill(); return nil },
		"terminated":  func(g *harness.Gateway) *harness.Gateway { g.Signal(syscall.SIGTERM); return nil },
		"handed over": func(g *harness.Gateway) *harness.Gateway { g.Restart(); return g },
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			during := calls(g, "during", `tool_call {"name":"wait_ms","args":{"ms":1000}}`)
			without := g.Tell("without", "mcp "+m.Path("go")+" channel_list {}")
			m.Eventually("both turns run", func() bool { return m.Begun("mcp") == 2 })
			next := end(g)
			m.Touch("go")
			if next == nil {
				m.Eventually("claude waits for the other tool", func() bool { return done(m, "call") == 2 })
				next = m.Start()
			}
			for id, want := range map[string]string{during: "1000", without: `"channel":"without"`} {
				if a := next.Outcome(id); !strings.Contains(a.Str("text"), want) {
					t.Errorf("the outcome is %s, want %s", a.Body, want)
				}
			}
			if n, answers := done(m, "call"), done(m, "called"); n != 2 || answers != 2 || m.Begun("mcp") != 2 {
				t.Errorf("claude made %d calls and has %d answers, want 2", n, answers)
			}
			next.Balanced()
		})
	}
}

// TestCallEnds interrupts a turn, closes a conversation and kills claude while a tool is at work: the
// message is told so at once, and the channel goes on.
func TestCallEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(g *harness.Gateway)
		state string
	}{
		"interrupt": {func(g *harness.Gateway) { g.Must("POST", "/channels/a/interrupt", nil, 200) }, "cancelled"},
		"reset":     {func(g *harness.Gateway) { g.Must("DELETE", "/channels/a", nil, 200) }, "cancelled"},
		"kill": {func(g *harness.Gateway) {
			h := g.Hosts()["a"]
			g.Slay(proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart})
		}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			id := calls(g, "a", `tool_call {"name":"wait_ms","args":{"ms":30000}}`)
			c.end(g)
			if a := g.Outcome(id); a.Str("state") != c.state {
				t.Errorf("the outcome is %s, want %s", a.Body, c.state)
			}
			g.Eventually("the tool is told to end", func() bool { return strings.Contains(g.Log.String(), `"outcome":"cancelled"`) })
			g.Say("a", "echo next").Want(t, "next")
			if n := done(m, "called"); n != 0 {
				t.Errorf("claude has %d answers of a call that nobody waits for", n)
			}
			g.Balanced()
		})
	}
}
