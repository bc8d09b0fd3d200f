package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// TestLinesOfTheTurnBefore kills the daemon between the end of one turn and the beginning
// of the next, when the first has its outcome and nothing of it is acknowledged. What
// the host says again of the first is not shown to whoever follows the second message.
func TestLinesOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	needStrace(t)
	m := newMachine(t)
	g := m.start()
	first, second := m.path("first"), m.path("second")
	a := g.tell("http", "wait "+first)
	m.eventually("the first turn runs", func() bool { return m.begun(first) == 1 })
	channel := g.stream("GET", "/channels/http/events", nil)
	b := g.tell("http", "wait "+second, "mode", "steer") // claude has it now, and begins it after the first
	for e := channel.want("event"); e.str("state") != "queued"; e = channel.want("event") {
	}
	tr := m.trace(g.cmd.Process.Pid, "write:signal=SIGKILL", m.hostSockets(g.cmd.Process.Pid)...)
	m.touch("first")
	g.waitEnd()
	tr.detach()
	g, shown := m.startWatched("http", b)
	g.outcome(a).want(t, "waited for "+first) // on record, unless what was acknowledged late had the daemon killed before
	m.touch("second")
	shown.want("result").want(t, "waited for "+second)
	lines := 0
	for _, e := range shown.seen {
		if e.kind == "event" {
			lines++
		}
		if strings.Contains(string(e.data.body), first) {
			t.Errorf("the second message's stream has %s %s", e.kind, e.data.body)
		}
	}
	if lines == 0 {
		t.Error("the second message's stream has no lines")
	}
	g.balanced()
}

// hostSockets returns what has strace look at nothing but the daemon's connections to
// session hosts: those of its Unix sockets that have no name.
func (m *machine) hostSockets(daemon int) (all []string) {
	m.t.Helper()
	list, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		m.t.Fatal(err)
	}
	nameless := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if words := strings.Fields(line); len(words) == 7 {
			nameless["socket:["+words[6]+"]"] = true
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && nameless[to] {
			all = append(all, "-P", to)
		}
	}
	if len(all) == 0 {
		m.t.Fatal("the daemon has no connection to a host")
	}
	return all
}

// startWatched starts a daemon and follows a message before its channel's host says
// anything.
func (m *machine) startWatched(channel, id string) (*gateway, *stream) {
	m.t.Helper()
	h := m.hosts()[channel]
	m.signalHost(h, syscall.SIGSTOP)
	defer m.signalHost(h, syscall.SIGCONT)
	g := m.start()
	return g, g.stream("GET", "/messages/"+id+"/events", nil)
}

func (m *machine) signalHost(h hostRecord, sig syscall.Signal) {
	m.t.Helper()
	if err := proc.Signal(h.PID, h.Start, sig); err != nil {
		m.t.Fatal(err)
	}
}
