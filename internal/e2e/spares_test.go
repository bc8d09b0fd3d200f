package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// spares returns the live session hosts that belong to no channel.
func (m *machine) spares() []hostRecord {
	var spares []hostRecord
	for channel, r := range m.hosts() {
		if strings.HasPrefix(channel, "\x00") {
			spares = append(spares, r)
		}
	}
	return spares
}

// spareReady waits until n spares are ready and returns them.
func (g *gateway) spareReady(n int) []hostRecord {
	g.t.Helper()
	g.eventually("spares are ready", func() bool {
		return g.metrics()[`bareclaw_warm_spares{state="ready"}`] == float64(n) && len(g.spares()) == n
	})
	return g.spares()
}

// claudeOf returns the process that answers on a channel.
func (g *gateway) claudeOf(channel string) int {
	g.t.Helper()
	a := g.say(channel, "pid")
	pid, err := strconv.Atoi(a.str("text"))
	if err != nil {
		g.t.Fatalf("answer is %s", a.body)
	}
	return pid
}

// kill9 ends processes at once and waits until they are gone.
func (m *machine) kill9(ps ...proc.Process) {
	m.t.Helper()
	for _, p := range ps {
		_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	}
	for _, p := range ps {
		m.eventually("process is gone", func() bool { return !proc.Alive(p.PID, p.Start) })
	}
}

// oneClaude fails if a session was begun or resumed by two processes that were
// given turns.
func (m *machine) oneClaude() {
	m.t.Helper()
	of := map[string]int{}
	for _, l := range m.journal() {
		if l.Event != "begun" || l.Session == "" {
			continue
		}
		if other, ok := of[l.Session]; ok && other != l.PID {
			m.t.Errorf("session %s was used by processes %d and %d", l.Session, other, l.PID)
		}
		of[l.Session] = l.PID
	}
}

// A new channel gets the claude that waits, which is then replaced.
func TestSpareAnswersNewChannel(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=2")
	g := m.start()
	waiting := map[int]bool{}
	for _, r := range g.spareReady(2) {
		waiting[r.ClaudePID] = true
	}
	if h := g.must("GET", "/health", nil, 200); !strings.Contains(string(h.body), `"spares":{"ready":2,"wanted":2}`) {
		t.Errorf("health is %s", h.body)
	}
	if all := g.must("GET", "/channels", nil, 200); strings.Contains(string(all.body), "spare") {
		t.Errorf("channels are %s", all.body)
	}
	a, b := g.claudeOf("a"), g.claudeOf("b")
	if !waiting[a] || !waiting[b] || a == b {
		t.Errorf("claudes %d and %d answer, those that waited are %v", a, b, waiting)
	}
	if again := g.claudeOf("a"); again != a {
		t.Errorf("claude of a was %d and is %d", a, again)
	}
	for _, r := range g.spareReady(2) {
		if r.ClaudePID == a || r.ClaudePID == b {
			t.Errorf("claude %d has a channel and is a spare", r.ClaudePID)
		}
	}
	if hosts := m.hosts(); hosts["a"].ClaudePID != a || hosts["b"].ClaudePID != b || len(hosts) != 4 {
		t.Errorf("hosts are %+v", hosts)
	}
	if session := g.say("a", "session").str("text"); g.say("b", "session").str("text") == session {
		t.Error("two channels have one session")
	}
	g.oneClaude()
	g.balanced()
}

// More new channels than spares: the others start a claude of their own.
func TestMoreChannelsThanSpares(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	g.spareReady(1)
	var ids []string
	for i := range 5 {
		ids = append(ids, g.tell(fmt.Sprint("c", i), fmt.Sprint("echo ", i)))
	}
	for i, id := range ids {
		g.outcome(id).want(t, strconv.Itoa(i))
	}
	g.spareReady(1)
	if n := len(m.hosts()); n != 6 {
		t.Errorf("%d hosts, want 6", n)
	}
	g.oneClaude()
	g.balanced()
}

// A spare that dies, or whose claude does, is replaced, and nothing of it is left.
func TestSpareDies(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	first := g.spareReady(1)[0]
	m.kill9(first.host())
	m.eventually("its claude is gone", func() bool { return !proc.Alive(first.ClaudePID, first.ClaudeStart) })
	g.say("a", "echo between").want(t, "between")
	second := g.spareReady(1)[0]
	m.kill9(second.claude())
	m.eventually("its host is gone", func() bool { return !proc.Alive(second.PID, second.Start) })
	third := g.spareReady(1)[0]
	if pid := g.claudeOf("b"); pid != third.ClaudePID {
		t.Errorf("claude %d answers, the spare was %d", pid, third.ClaudePID)
	}
	g.oneClaude()
	g.balanced()
}

// A spare that is stopped, or killed, when a channel takes it: the message is
// answered by another claude, with the same session, and nothing of the spare is
// left.
func TestSpareDiesWhenItIsTaken(t *testing.T) {
	t.Parallel()
	for name, fell := range map[string]func(m *machine, r hostRecord){
		"stopped":       func(_ *machine, r hostRecord) { _ = proc.Signal(r.PID, r.Start, syscall.SIGSTOP) },
		"host killed":   func(_ *machine, r hostRecord) { _ = proc.Signal(r.PID, r.Start, syscall.SIGKILL) },
		"claude killed": func(_ *machine, r hostRecord) { _ = proc.Signal(r.ClaudePID, r.ClaudeStart, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_WARM_SPARES=1")
			g := m.start()
			spare := g.spareReady(1)[0]
			fell(m, spare)
			g.say("a", "echo all the same").want(t, "all the same")
			m.eventually("the spare is gone", func() bool {
				return !proc.Alive(spare.PID, spare.Start) && !proc.Alive(spare.ClaudePID, spare.ClaudeStart)
			})
			next := g.spareReady(1)[0]
			if pid := g.claudeOf("b"); pid != next.ClaudePID {
				t.Errorf("claude %d answers, the spare was %d", pid, next.ClaudePID)
			}
			g.spareReady(1)
			if hosts := m.hosts(); len(hosts) != 3 {
				t.Errorf("hosts are %+v", hosts)
			}
			g.balanced()
		})
	}
}

// The next daemon takes over the spare, and the session that came of one.
func TestSpareOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(g *gateway) *gateway{
		"killed":     func(g *gateway) *gateway { g.kill(); return g.start() },
		"terminated": func(g *gateway) *gateway { g.signal(syscall.SIGTERM); return g.start() },
		"handed over": func(g *gateway) *gateway {
			generation := g.generation()
			g.must("POST", "/restart", nil, 200)
			g.restarted(generation)
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_WARM_SPARES=1")
			g := m.start()
			g.spareReady(1)
			a := g.claudeOf("a")
			spare := g.spareReady(1)[0]
			g = end(g)
			if now := g.spareReady(1)[0]; now != spare {
				t.Errorf("the spare was %+v and is %+v", spare, now)
			}
			if now := g.claudeOf("a"); now != a {
				t.Errorf("claude of a was %d and is %d", a, now)
			}
			if pid := g.claudeOf("b"); pid != spare.ClaudePID {
				t.Errorf("claude %d answers, the spare was %d", pid, spare.ClaudePID)
			}
			g = end(g)
			if pid := g.claudeOf("b"); pid != spare.ClaudePID {
				t.Errorf("claude of b was %d and is %d", spare.ClaudePID, pid)
			}
			g.oneClaude()
			g.balanced()
		})
	}
}

// A daemon with other settings replaces the spare, and one that wants none ends it.
func TestSpareOfOtherSettings(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=2")
	g := m.start()
	old := g.spareReady(2)
	g.signal(syscall.SIGTERM)
	m.set("BARECLAW_MAX_TURNS=7")
	g = m.start()
	m.eventually("the spares are replaced", func() bool {
		return !proc.Alive(old[0].PID, old[0].Start) && !proc.Alive(old[1].PID, old[1].Start)
	})
	now := g.spareReady(2)
	if args := g.say("a", "args").str("text"); !strings.Contains(args, `"--max-turns","7"`) {
		t.Errorf("the arguments are %s", args)
	}
	g.spareReady(2)
	g.signal(syscall.SIGTERM)
	m.set("BARECLAW_WARM_SPARES=0")
	g = m.start()
	m.eventually("the spares are ended", func() bool { return len(m.spares()) == 0 })
	for _, r := range now {
		if r.ClaudePID == m.hosts()["a"].ClaudePID {
			continue
		}
		m.eventually("nothing is left of the spare", func() bool { return !proc.Alive(r.ClaudePID, r.ClaudeStart) })
	}
	g.say("b", "echo without").want(t, "without")
	g.balanced()
}

// SIGINT ends spares too, whatever state they are in.
func TestInterruptEndsSpares(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		t.Run(fmt.Sprint("ready ", ready), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_WARM_SPARES=2")
			g := m.start()
			var before []hostRecord
			if ready {
				before = g.spareReady(2)
			}
			g.signal(syscall.SIGINT)
			if hosts := m.hosts(); len(hosts) != 0 {
				t.Errorf("hosts left: %+v", hosts)
			}
			for _, r := range before {
				if proc.Alive(r.PID, r.Start) || proc.Alive(r.ClaudePID, r.ClaudeStart) {
					t.Errorf("alive: %+v", r)
				}
			}
			if left := m.glob("run/*"); len(left) != 0 {
				t.Errorf("left in the runtime directory: %q", left)
			}
		})
	}
}

// A channel's idle session that came of a spare ends, and is resumed.
func TestSpareSessionIsResumed(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	spare := g.spareReady(1)[0]
	first := g.say("a", "echo remember me")
	m.kill9(spare.host())
	again := g.say("a", "history")
	if !strings.Contains(again.str("text"), "remember me") || again.str("session_id") != first.str("session_id") {
		t.Errorf("afterwards: %s, before: %s", again.body, first.body)
	}
	g.balanced()
}

// A claude that does not start is tried again with pauses, and messages say why
// they cannot be answered.
func TestSpareThatDoesNotStart(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1", "FAKECLAUDE_START=exit:3")
	g := m.start()
	m.eventually("two were lost", func() bool { return strings.Count(m.log.String(), `"spare lost"`) >= 2 })
	if a := g.say("a", "echo hello"); !a.flag("is_error") || a.code() == "" {
		t.Errorf("answer is %s", a.body)
	}
	g.balanced()
}

// The echo agent has no spares.
func TestEchoHasNoSpares(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1", "BARECLAW_AGENT=echo")
	g := m.start()
	g.say("a", "hello")
	if n := g.metrics()[`bareclaw_warm_spares{state="wanted"}`]; n != 0 || len(m.spares()) != 0 {
		t.Errorf("%v spares are wanted, hosts are %+v", n, m.hosts())
	}
}
