package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// The system calls by which something becomes known outside of a process, or
// lasting. A process that is killed on the way into one of them has done all
// that comes before, and nothing of what comes after.
var steps = []string{"write,writev,sendmsg,sendto", "pwrite64", "fdatasync,fsync", "renameat,renameat2,unlinkat,ftruncate"}

// TestCrashOfDaemonAtEveryStep kills the daemon at every step of a message's
// life: on the way in, into the ledger, to a host, and back. The host goes on, so
// whatever was accepted is answered, and was done once.
func TestCrashOfDaemonAtEveryStep(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, calls := range steps {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			everyStep(t, func(n int) (killed bool) {
				channel := fmt.Sprintf("r%d", n)
				tr := m.trace(g.cmd.Process.Pid, fmt.Sprintf("%s:signal=SIGKILL:when=%d", calls, n))
				msgs := g.conversation(channel)
				tr.detach()
				if killed = g.ended(); killed {
					g = m.start()
				}
				g.afterDaemonCrash(channel, msgs)
				return killed
			})
			g.balanced()
			g.endsAll()
		})
	}
}

// everyStep runs round with 1, 2, … until nothing is killed any more, which takes some 40
// rounds at most. Each thread counts its system calls by itself and which thread does what
// is left to chance, so that one quiet round proves little.
func everyStep(t *testing.T, round func(n int) (killed bool)) {
	const most = 500
	quiet, kills := 0, 0
	n := 1
	for ; quiet < 2 && n <= most && !t.Failed(); n++ {
		if round(n) {
			kills, quiet = kills+1, 0
		} else {
			quiet++
		}
	}
	t.Logf("%d kills in %d rounds", kills, n-1)
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
func (g *gateway) conversation(channel string) []*sent {
	msgs := []*sent{
		{text: "echo first-" + channel, form: "sse"},
		{text: "tool 0 tool-" + channel, form: "async", key: channel},
		{text: "echo last-" + channel},
	}
	for _, s := range msgs[:2] {
		g.post(channel, s)
	}
	var wg sync.WaitGroup
	wg.Go(func() { g.post(channel, msgs[2]) })
	wg.Wait()
	for { // until it is durable
		a, err := g.do("GET", "/metrics", nil)
		if err != nil || strings.Contains(string(a.body), "\nbareclaw_messages_waiting 0\n") {
			return msgs
		}
	}
}

// ended reports whether the daemon is gone.
func (g *gateway) ended() bool {
	if _, err := g.do("GET", "/health", nil); err == nil {
		return false
	}
	g.waitEnd()
	return true
}

// afterDaemonCrash fails unless each message that was accepted is answered and
// was begun once, and no other was.
func (g *gateway) afterDaemonCrash(channel string, msgs []*sent) {
	g.t.Helper()
	for _, s := range msgs {
		if s.id == "" && s.key != "" {
			g.post(channel, s) // it may have been accepted before
		}
	}
	outcomes := g.settled(channel, msgs)
	begun := 0
	for _, s := range msgs {
		n := g.begunExactly(s.text)
		if begun += n; n > 1 || n == 0 && s.id != "" {
			g.t.Errorf("%s: accepted as %q, begun %d times", s.text, s.id, n)
		}
	}
	if begun != len(outcomes) {
		g.t.Errorf("channel %s: %d messages were accepted and %d begun", channel, len(outcomes), begun)
	}
	for id, a := range outcomes {
		if a.str("state") != "answered" {
			g.t.Errorf("message %s: %s", id, a.body)
		}
	}
	if n := g.tools("tool-" + channel); n != 1 {
		g.t.Errorf("tool of channel %s was run %d times", channel, n)
	}
}

// TestCrashOfDaemonAtEveryStepOfStarting kills a daemon again and again while it
// takes up what the ones before it left: a turn that goes on in its host, and
// messages that wait behind it.
func TestCrashOfDaemonAtEveryStepOfStarting(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, calls := range steps {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			running := g.tell("a", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait ") == 1 })
			waiting, other := g.tell("a", "tool 0 waiting"), g.tell("b", "wait "+m.path("go"))
			g.kill()
			everyStep(t, func(n int) (killed bool) {
				g = m.launch("strace", "-f", "-b", "execve", "-qqq", "-o", os.DevNull, "--seccomp-bpf",
					"-e", "trace="+calls, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", calls, n))
				if g.base == "" {
					g.waitEnd()
					return true
				}
				pid, err := g.pid()
				if err != nil {
					g.waitEnd()
					return true
				}
				start, err := proc.StartTime(pid)
				if err == nil {
					_ = proc.Signal(pid, start, syscall.SIGKILL) // strace ends with it
				}
				g.waitEnd()
				return false
			})
			g = m.start()
			m.touch("go")
			for _, id := range []string{running, other} {
				g.outcome(id).want(t, "waited for "+m.path("go"))
			}
			g.outcome(waiting).want(t, "final: ran: waiting")
			if n := m.begun("wait ") + m.tools("waiting"); n != 3 {
				t.Errorf("three turns were begun %d times", n)
			}
			g.balanced()
			g.endsAll()
		})
	}
}

// pid asks the daemon for its process id: it may run under strace.
func (g *gateway) pid() (int, error) {
	a, err := g.do("GET", "/health", nil)
	n, _ := a.json["pid"].(float64)
	return int(n), err
}

// TestCrashOfHostAtEveryStep kills a host at every step of a turn: a text turn is
// answered all the same; a tool turn is answered or told as interrupted, and its
// tool runs at most once.
func TestCrashOfHostAtEveryStep(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, kind := range []string{"text", "tool"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			everyStep(t, func(n int) (killed bool) {
				channel := fmt.Sprintf("%s-%d", kind, n)
				g.usable(channel)
				host := m.hosts()[channel]
				tr := m.trace(host.PID, fmt.Sprintf("%s:signal=SIGKILL:when=%d", strings.Join(steps, ","), n))
				if kind == "text" {
					g.say(channel, "echo "+channel).want(t, channel)
				} else {
					g.toolTurn(channel)
				}
				tr.detach()
				killed = !proc.Alive(host.PID, host.Start)
				g.usable(channel)
				if n := m.begunExactly("echo " + channel); n > 2 {
					t.Errorf("turn was begun %d times", n)
				}
				return killed
			})
			g.balanced()
			g.endsAll()
		})
	}
}

// toolTurn runs a tool turn during which the host may die.
func (g *gateway) toolTurn(channel string) {
	g.t.Helper()
	a, ran := g.say(channel, "tool 0 "+channel), g.tools(channel)
	switch {
	case a.str("state") == "answered":
		a.want(g.t, "final: ran: "+channel)
		if ran != 1 {
			g.t.Errorf("answered, and the tool ran %d times", ran)
		}
	default:
		a.failed(g.t, "interrupted", "not run again")
		if ran > 1 {
			g.t.Errorf("tool was run %d times", ran)
		}
	}
}

// TestCrashBeforeAnInterrupt kills the daemon when a message with the mode interrupt is
// on record and nothing else has come of it: the next daemon ends the turn.
func TestCrashBeforeAnInterrupt(t *testing.T) {
	t.Parallel()
	needStrace(t)
	m := newMachine(t)
	g := m.start()
	recorded := 0
	for n := 0; recorded < 3 && n < 50 && !t.Failed(); n++ { // some syncs are of something else
		channel := fmt.Sprintf("r%d", n)
		running, finish := g.occupy(channel)
		tr := m.trace(g.cmd.Process.Pid, "fdatasync,fsync:signal=SIGKILL:when=1")
		a, err := g.do("POST", "/message", obj{"channel": channel, "text": "echo urgent", "mode": "interrupt"}, "Prefer", "respond-async")
		if err == nil {
			t.Logf("it was accepted before a sync: %s", a.body)
		}
		tr.detach()
		if err == nil && !g.ended() {
			t.Fatal("the ledger was not synced")
		}
		g.waitEnd()
		g = m.start()
		list := g.must("GET", "/channels/"+channel+"/messages", nil, 200).array("messages")
		if len(list) == 1 {
			finish() // the message did not come so far
			g.outcome(running)
			continue
		}
		recorded++
		if a := g.outcome(running); a.str("state") != "cancelled" || a.code() != "interrupted" || !strings.Contains(a.str("text"), "newer message") {
			t.Errorf("the turn that was to be interrupted: %s", a.body)
		}
		g.outcome(list[0].str("message_id")).want(t, "urgent")
	}
	if recorded == 0 {
		t.Error("no message was on record when the daemon was killed")
	}
	g.balanced()
}
