package restart

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestLinesOfTheTurnBefore kills the daemon between the end of one turn and the beginning
// of the next, when the first has its outcome and nothing of it is acknowledged. What
// the host says again of the first is not shown to whoever follows the second message.
func TestLinesOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	g := m.Start()
	first, second := m.Path("first"), m.Path("second")
	a := g.Tell("http", "wait "+first)
	m.Eventually("the first turn runs", func() bool { return m.Begun(first) == 1 })
	channel := g.Stream("GET", "/channels/http/events", nil)
	b := g.Tell("http", "wait "+second, "mode", "steer") // claude has it now, and begins it after the first
	for e := channel.Want("event"); e.Str("state") != "queued"; e = channel.Want("event") {
	}
	tr := m.Trace(g.Worker(), "write:signal=SIGKILL", m.HostSockets(g.Worker())...)
	m.Touch("first")
	g.WaitEnd()
	tr.Detach()
	g, shown := startWatched(m, "http", b)
	g.Outcome(a).Want(t, "waited for "+first) // on record, unless what was acknowledged late had the daemon killed before
	m.Touch("second")
	shown.Want("result").Want(t, "waited for "+second)
	lines := 0
	for _, e := range shown.Seen {
		if e.Kind == "event" {
			lines++
		}
		if strings.Contains(string(e.Data.Body), first) {
			t.Errorf("the second message's stream has %s %s", e.Kind, e.Data.Body)
		}
	}
	if lines == 0 {
		t.Error("the second message's stream has no lines")
	}
	g.Balanced()
}

// startWatched starts a daemon and follows a message before its channel's host says
// anything.
func startWatched(m *harness.Machine, channel, id string) (*harness.Gateway, *harness.Stream) {
	m.T.Helper()
	h := m.Hosts()[channel]
	signalHost(m, h, syscall.SIGSTOP)
	defer signalHost(m, h, syscall.SIGCONT)
	g := m.Start()
	return g, g.Stream("GET", "/messages/"+id+"/events", nil)
}

func signalHost(m *harness.Machine, h harness.HostRecord, sig syscall.Signal) {
	m.T.Helper()
	check.OK(m.T, proc.Signal(h.PID, h.Start, sig))
}
