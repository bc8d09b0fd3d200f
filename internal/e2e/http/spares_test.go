package http

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// claudeOf returns the process that answers on a channel.
func claudeOf(g *harness.Gateway, channel string) int {
	g.T.Helper()
	a := g.Say(channel, "pid")
	pid, err := strconv.Atoi(a.Str("text"))
	if err != nil {
		g.T.Fatalf("answer is %s", a.Body)
	}
	return pid
}

// oneClaude fails if a session was begun or resumed by two processes that were
// given turns.
func oneClaude(m *harness.Machine) {
	m.T.Helper()
	of := map[string]int{}
	for _, l := range m.Journal() {
		if l.Event != "begun" || l.Session == "" {
			continue
		}
		if other, ok := of[l.Session]; ok && other != l.PID {
			m.T.Errorf("session %s was used by processes %d and %d", l.Session, other, l.PID)
		}
		of[l.Session] = l.PID
	}
}

// The next daemon takes over the spare, and the session that came of one.
func TestSpareOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(g *harness.Gateway) *harness.Gateway{
		"killed":     func(g *harness.Gateway) *harness.Gateway { g.Kill(); return g.Start() },
		"terminated": func(g *harness.Gateway) *harness.Gateway { g.Signal(syscall.SIGTERM); return g.Start() },
		"handed over": func(g *harness.Gateway) *harness.Gateway {
			g.Restart()
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, g := harness.Started(t, "BARECLAW_WARM_SPARES=1")
			g.SpareReady(1)
			a := claudeOf(g, "a")
			spare := g.SpareReady(1)[0]
			g = end(g)
			if now := g.SpareReady(1)[0]; now != spare {
				t.Errorf("the spare was %+v and is %+v", spare, now)
			}
			if now := claudeOf(g, "a"); now != a {
				t.Errorf("claude of a was %d and is %d", a, now)
			}
			if pid := claudeOf(g, "b"); pid != spare.ClaudePID {
				t.Errorf("claude %d answers, the spare was %d", pid, spare.ClaudePID)
			}
			g = end(g)
			if pid := claudeOf(g, "b"); pid != spare.ClaudePID {
				t.Errorf("claude of b was %d and is %d", spare.ClaudePID, pid)
			}
			oneClaude(g.Machine)
			g.Balanced()
		})
	}
}

// A daemon with other settings replaces the spare, and one that wants none ends it.
func TestSpareOfOtherSettings(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_WARM_SPARES=2")
	old := g.SpareReady(2)
	g.Signal(syscall.SIGTERM)
	m.Set("BARECLAW_MAX_TURNS=7")
	g = m.Start()
	m.Eventually("the spares are replaced", func() bool {
		return !proc.Alive(old[0].PID, old[0].Start) && !proc.Alive(old[1].PID, old[1].Start)
	})
	now := g.SpareReady(2)
	if args := g.Say("a", "args").Str("text"); !strings.Contains(args, `"--max-turns","7"`) {
		t.Errorf("the arguments are %s", args)
	}
	g.SpareReady(2)
	g.Signal(syscall.SIGTERM)
	m.Set("BARECLAW_WARM_SPARES=0")
	g = m.Start()
	m.Eventually("the spares are ended", func() bool { return len(m.Spares()) == 0 })
	for _, r := range now {
		if r.ClaudePID == m.Hosts()["a"].ClaudePID {
			continue
		}
		m.Eventually("nothing is left of the spare", func() bool { return !proc.Alive(r.ClaudePID, r.ClaudeStart) })
	}
	g.Say("b", "echo without").Want(t, "without")
	g.Balanced()
}

// SIGINT ends spares too, whatever state they are in.
func TestInterruptEndsSpares(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		t.Run(fmt.Sprint("ready ", ready), func(t *testing.T) {
			m, g := harness.Started(t, "BARECLAW_WARM_SPARES=2")
			var before []harness.HostRecord
			if ready {
				before = g.SpareReady(2)
			}
			g.Signal(syscall.SIGINT)
			if hosts := m.Hosts(); len(hosts) != 0 {
				t.Errorf("hosts left: %+v", hosts)
			}
			for _, r := range before {
				m.HostEnded(r)
			}
			if left := m.Glob("run/*"); len(left) != 0 {
				t.Errorf("left in the runtime directory: %q", left)
			}
		})
	}
}

// The echo agent has no spares.
func TestEchoHasNoSpares(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_WARM_SPARES=1", "BARECLAW_AGENT=echo")
	g.Say("a", "hello")
	if n := g.Metrics()[`bareclaw_warm_spares{state="wanted"}`]; n != 0 || len(m.Spares()) != 0 {
		t.Errorf("%v spares are wanted, hosts are %+v", n, m.Hosts())
	}
}
