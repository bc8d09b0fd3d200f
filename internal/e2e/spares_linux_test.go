package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// taking are the system calls by which daemon and host take a spare for a channel.
const taking = "openat,write,sendmsg,renameat,renameat2,unlinkat"

// TestCrashOfDaemonWhileASpareIsTaken kills the daemon at every step on the way of
// a spare to a channel: a message that was accepted is answered, no process is
// left, and there is a spare again.
func TestCrashOfDaemonWhileASpareIsTaken(t *testing.T) {
	t.Parallel()
	needStrace(t)
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	everyStep(t, func(n int) (killed bool) {
		channel := fmt.Sprintf("d%d", n)
		spare := g.spareReady(1)[0]
		tr := m.trace(g.cmd.Process.Pid, fmt.Sprintf("%s:signal=SIGKILL:when=%d", taking, n))
		msg := &sent{text: "echo " + channel}
		g.post(channel, msg)
		tr.detach()
		if killed = g.ended(); killed {
			g = m.start()
		}
		for _, a := range g.settled(channel, []*sent{msg}) {
			a.want(t, channel)
		}
		if n := m.begunExactly(msg.text); n > 1 {
			t.Errorf("turn was begun %d times", n)
		}
		g.taken(channel, spare)
		return killed
	})
	g.spareReady(1)
	g.balanced()
	g.endsAll()
}

// TestCrashOfHostWhileItIsTaken kills the spare at each of its steps.
func TestCrashOfHostWhileItIsTaken(t *testing.T) {
	t.Parallel()
	needStrace(t)
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	everyStep(t, func(n int) (killed bool) {
		channel := fmt.Sprintf("h%d", n)
		spare := g.spareReady(1)[0]
		tr := m.trace(spare.PID, fmt.Sprintf("%s:signal=SIGKILL:when=%d", taking, n))
		g.say(channel, "echo "+channel).want(t, channel)
		tr.detach()
		killed = !proc.Alive(spare.PID, spare.Start)
		g.usable(channel)
		g.taken(channel, spare)
		return killed
	})
	g.spareReady(1)
	g.balanced()
	g.endsAll()
}

// TestCrashOfBothWhileASpareIsTaken kills the daemon when it has promised a spare
// that is stopped to a channel. Whatever it has written to the spare comes too
// late: the new daemon has ended that.
func TestCrashOfBothWhileASpareIsTaken(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	spare := g.spareReady(1)[0]
	m.freeze(spare.PID, spare.Start)
	id := g.tell("a", "echo all the same") // accepted together with the session's id
	g.kill()
	g = m.start()
	_ = proc.Signal(spare.PID, spare.Start, syscall.SIGCONT)
	g.outcome(id).want(t, "all the same")
	m.eventually("the spare is gone", func() bool {
		return !proc.Alive(spare.PID, spare.Start) && !proc.Alive(spare.ClaudePID, spare.ClaudeStart)
	})
	if n := m.begun("all the same"); n != 1 {
		t.Errorf("turn was begun %d times", n)
	}
	g.taken("a", spare)
	g.balanced()
	g.endsAll()
}

// taken fails unless the spare is the channel's, a spare as before, or gone.
func (g *gateway) taken(channel string, spare hostRecord) {
	g.t.Helper()
	spare.Channel = ""
	same := func(r hostRecord) bool { r.Channel = ""; return r == spare }
	g.eventually("the spare belongs to somebody, or is gone", func() bool {
		homes := 0
		for _, r := range g.hosts() {
			if same(r) {
				homes++
			}
		}
		alive := proc.Alive(spare.PID, spare.Start) || proc.Alive(spare.ClaudePID, spare.ClaudeStart)
		return homes == 1 && alive || homes == 0 && !alive
	})
	for key, r := range g.hosts() {
		if same(r) && key != channel && key[0] != 0 {
			g.t.Errorf("the spare belongs to channel %q", key)
		}
	}
}
