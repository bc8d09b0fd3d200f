package crash

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestCrashOfDaemonAtEveryStep kills the daemon at every step of a message's
// life: on the way in, into the ledger, to a host, and back. The host goes on, so
// whatever was accepted is answered, and was done once.
func TestCrashOfDaemonAtEveryStep(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	for _, calls := range harness.Steps {
		t.Run(calls, func(t *testing.T) {
			m, g := harness.Started(t)
			everyStep(t, func(n int) (killed bool) {
				channel := fmt.Sprintf("r%d", n)
				tr := m.Trace(g.Worker(), fmt.Sprintf("%s:signal=SIGKILL:when=%d", calls, n))
				msgs := conversation(g, channel)
				tr.Detach()
				if killed = g.Ended(); killed {
					g = m.Start()
				}
				afterDaemonCrash(g, channel, msgs)
				return killed
			})
			g.Balanced()
			g.EndsAll()
		})
	}
}

// everyStep runs round with 1, 2, … until nothing is killed any more, which takes some 40
// rounds at most; a short run leaves out ever more of the later ones. Each thread counts its
// system calls by itself and which thread does what is left to chance, so that one quiet round
// proves little.
func everyStep(t *testing.T, round func(n int) (killed bool)) {
	const most = 500
	quiet, kills, rounds := 0, 0, 0
	for n := 1; quiet < 2 && n <= most && !t.Failed(); n++ {
		if !harness.Soak() {
			n += n / 8
		}
		rounds++
		if round(n) {
			kills, quiet = kills+1, 0
		} else {
			quiet++
		}
	}
	t.Logf("%d kills in %d rounds", kills, rounds)
	if kills == 0 {
		t.Error("nothing was killed")
	}
	if quiet < 2 && !t.Failed() {
		t.Errorf("something was killed in the last of %d rounds: there are more steps", most)
	}
}

// conversation sends messages of all forms to a new channel: two that run one
// after the other, and two that come together. It returns when they have their
// outcomes in the ledger, or the daemon is gone.
func conversation(g *harness.Gateway, channel string) []*harness.Sent {
	msgs := []*harness.Sent{
		{Text: "echo first-" + channel, Form: "sse"},
		{Text: "tool 0 tool-" + channel, Form: "async", Key: channel},
		{Text: "echo last-" + channel},
	}
	for _, s := range msgs[:2] {
		g.Post(channel, s)
	}
	var wg sync.WaitGroup
	wg.Go(func() { g.Post(channel, msgs[2]) })
	wg.Wait()
	for ; ; time.Sleep(10 * time.Millisecond) { // until it is durable; each look writes
		a, err := g.Do("GET", "/metrics", nil)
		if err != nil || strings.Contains(string(a.Body), "\nbareclaw_messages_waiting 0\n") {
			return msgs
		}
	}
}

// afterDaemonCrash fails unless each message that was accepted is answered and
// was begun once, and no other was.
func afterDaemonCrash(g *harness.Gateway, channel string, msgs []*harness.Sent) {
	g.T.Helper()
	for _, s := range msgs {
		if s.ID == "" && s.Key != "" {
			g.Post(channel, s) // it may have been accepted before
		}
	}
	outcomes := g.Settled(channel, msgs)
	begun := 0
	for _, s := range msgs {
		n := begunExactly(g.Machine, s.Text)
		if begun += n; n > 1 || n == 0 && s.ID != "" {
			g.T.Errorf("%s: accepted as %q, begun %d times", s.Text, s.ID, n)
		}
	}
	if begun != len(outcomes) {
		g.T.Errorf("channel %s: %d messages were accepted and %d begun", channel, len(outcomes), begun)
	}
	for id, a := range outcomes {
		if a.Str("state") != "answered" {
			g.T.Errorf("message %s: %s", id, a.Body)
		}
	}
	if n := tools(g.Machine, "tool-"+channel); n != 1 {
		g.T.Errorf("tool of channel %s was run %d times", channel, n)
	}
}

// TestCrashOfDaemonAtEveryStepOfStarting kills a daemon again and again while it
// takes up what the ones before it left: a turn that goes on in its host, and
// messages that wait behind it.
func TestCrashOfDaemonAtEveryStepOfStarting(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	for _, calls := range harness.Steps {
		t.Run(calls, func(t *testing.T) {
			m, g := harness.Started(t)
			running := g.Tell("a", "wait "+m.Path("go"))
			m.Eventually("turn runs", func() bool { return m.Begun("wait ") == 1 })
			waiting, other := g.Tell("a", "tool 0 waiting"), g.Tell("b", "wait "+m.Path("go"))
			g.Kill()
			everyStep(t, func(n int) (killed bool) {
				traced := m.With(supervisor.WrapVariable + "=" + strings.Join([]string{"strace", "-f", "-b", "execve", "-qqq", "-o", os.DevNull, "--seccomp-bpf",
					"-e", "trace=" + calls, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", calls, n)}, " "))
				g = traced.Launch()
				if g.Base == "" {
					g.WaitEnd()
					return true
				}
				pid, err := g.PID()
				if err != nil {
					g.WaitEnd()
					return true
				}
				start, err := proc.StartTime(pid)
				if err == nil {
					_ = proc.Signal(pid, start, syscall.SIGKILL) // strace ends with it
				}
				g.WaitEnd()
				return false
			})
			g = m.Start()
			m.Touch("go")
			for _, id := range []string{running, other} {
				g.Outcome(id).Want(t, "waited for "+m.Path("go"))
			}
			g.Outcome(waiting).Want(t, "final: ran: waiting")
			if n := m.Begun("wait ") + tools(m, "waiting"); n != 3 {
				t.Errorf("three turns were begun %d times", n)
			}
			g.Balanced()
			g.EndsAll()
		})
	}
}

// TestCrashOfHostAtEveryStep kills a host at every step of a turn: a text turn is
// answered all the same; a tool turn is answered or told as interrupted, and its
// tool runs at most once.
func TestCrashOfHostAtEveryStep(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	for _, kind := range []string{"text", "tool"} {
		t.Run(kind, func(t *testing.T) {
			m, g := harness.Started(t)
			everyStep(t, func(n int) (killed bool) {
				channel := fmt.Sprintf("%s-%d", kind, n)
				g.Usable(channel)
				host := m.Hosts()[channel]
				tr := m.Trace(host.PID, fmt.Sprintf("%s:signal=SIGKILL:when=%d", strings.Join(harness.Steps, ","), n))
				if kind == "text" {
					g.Say(channel, "echo "+channel).Want(t, channel)
				} else {
					toolTurn(g, channel)
				}
				tr.Detach()
				killed = !proc.Alive(host.PID, host.Start)
				g.Usable(channel)
				if n := begunExactly(m, "echo "+channel); n > 2 {
					t.Errorf("turn was begun %d times", n)
				}
				return killed
			})
			g.Balanced()
			g.EndsAll()
		})
	}
}

// toolTurn runs a tool turn during which the host may die.
func toolTurn(g *harness.Gateway, channel string) {
	g.T.Helper()
	a, ran := g.Say(channel, "tool 0 "+channel), tools(g.Machine, channel)
	switch {
	case a.Str("state") == "answered":
		a.Want(g.T, "final: ran: "+channel)
		if ran != 1 {
			g.T.Errorf("answered, and the tool ran %d times", ran)
		}
	default:
		a.Failed(g.T, "interrupted", "not run again")
		if ran > 1 {
			g.T.Errorf("tool was run %d times", ran)
		}
	}
}
