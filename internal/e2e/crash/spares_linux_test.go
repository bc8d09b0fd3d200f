package crash

import (
	"fmt"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// taking are the system calls by which daemon and host take a spare for a channel.
const taking = "openat,write,sendmsg,renameat,renameat2,unlinkat"

// TestCrashOfDaemonWhileASpareIsTaken kills the daemon at every step on the way of
// a spare to a channel: a message that was accepted is answered, no process is
// left, and there is a spare again.
func TestCrashOfDaemonWhileASpareIsTaken(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.Start()
	everyStep(t, func(n int) (killed bool) {
		channel := fmt.Sprintf("d%d", n)
		spare := g.SpareReady(1)[0]
		tr := m.Trace(g.Worker(), fmt.Sprintf("%s:signal=SIGKILL:when=%d", taking, n))
		msg := &harness.Sent{Text: "echo " + channel}
		g.Post(channel, msg)
		tr.Detach()
		if killed = g.Ended(); killed {
			g = m.Start()
		}
		for _, a := range g.Settled(channel, []*harness.Sent{msg}) {
			a.Want(t, channel)
		}
		if n := begunExactly(m, msg.Text); n > 1 {
			t.Errorf("turn was begun %d times", n)
		}
		taken(g, channel, spare)
		return killed
	})
	g.SpareReady(1)
	g.Balanced()
	g.EndsAll()
}

// TestCrashOfHostWhileItIsTaken kills the spare at each of its steps.
func TestCrashOfHostWhileItIsTaken(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.Start()
	everyStep(t, func(n int) (killed bool) {
		channel := fmt.Sprintf("h%d", n)
		spare := g.SpareReady(1)[0]
		tr := m.Trace(spare.PID, fmt.Sprintf("%s:signal=SIGKILL:when=%d", taking, n))
		g.Say(channel, "echo "+channel).Want(t, channel)
		tr.Detach()
		killed = !proc.Alive(spare.PID, spare.Start)
		g.Usable(channel)
		taken(g, channel, spare)
		return killed
	})
	g.SpareReady(1)
	g.Balanced()
	g.EndsAll()
}

// TestCrashOfBothWhileASpareIsTaken kills the daemon when it has promised a spare
// that is stopped to a channel. Whatever it has written to the spare comes too
// late: the new daemon has ended that.
func TestCrashOfBothWhileASpareIsTaken(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_WARM_SPARES=1")
	spare := g.SpareReady(1)[0]
	m.Freeze(spare.PID, spare.Start)
	id := g.Tell("a", "echo all the same") // accepted together with the session's id
	g.Kill()
	g = m.Start()
	_ = proc.Signal(spare.PID, spare.Start, syscall.SIGCONT)
	g.Outcome(id).Want(t, "all the same")
	m.HostEnded(spare)
	if n := m.Begun("all the same"); n != 1 {
		t.Errorf("turn was begun %d times", n)
	}
	taken(g, "a", spare)
	g.Balanced()
	g.EndsAll()
}

// taken fails unless the spare is the channel's, a spare as before, or gone.
func taken(g *harness.Gateway, channel string, spare harness.HostRecord) {
	g.T.Helper()
	spare.Channel = ""
	same := func(r harness.HostRecord) bool { r.Channel = ""; return r == spare }
	g.Eventually("the spare belongs to somebody, or is gone", func() bool {
		homes := 0
		for _, r := range g.Hosts() {
			if same(r) {
				homes++
			}
		}
		alive := proc.Alive(spare.PID, spare.Start) || proc.Alive(spare.ClaudePID, spare.ClaudeStart)
		return homes == 1 && alive || homes == 0 && !alive
	})
	for key, r := range g.Hosts() {
		if same(r) && key != channel && key[0] != 0 {
			g.T.Errorf("the spare belongs to channel %q", key)
		}
	}
}
