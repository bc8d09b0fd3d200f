package restart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	tr := m.Trace(g.Worker(), "write:signal=SIGKILL", harness.OnlyFiles(m.HostSockets(g.Worker()))...)
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

// TestCancelDuringRestarts cancels messages and drops turns while the gateway is
// restarted again and again: who did it is told so, not that it was too late.
func TestCancelDuringRestarts(t *testing.T) {
	m, g := harness.Started(t)
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	for range 5 {
		var waiting []string
		for i := range 40 {
			waiting = append(waiting, g.Tell("http", fmt.Sprint("echo ", i)))
		}
		generation := g.Generation()
		var all sync.WaitGroup
		for i, id := range waiting {
			all.Go(func() {
				for range i / 4 { // at another moment of the restart each time
					if _, err := g.Do("GET", "/openapi.yaml", nil); err != nil {
						t.Error(err)
					}
				}
				a, err := g.Do("DELETE", "/messages/"+id, nil)
				if err != nil || a.Status != 200 || a.Str("state") != "cancelled" {
					t.Errorf("cancel a message that waits: %v, status %d: %s", err, a.Status, a.Body)
				}
			})
		}
		g.Must("POST", "/restart", nil, 200)
		all.Wait()
		g.Restarted(generation)
	}
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	g.Balanced()
}

// TestSocketOfAKilledDaemon restarts where a daemon with the same process number was
// killed before, as happens in a container whose state is kept: what that has left
// is in nobody's way.
func TestSocketOfAKilledDaemon(t *testing.T) {
	m, g := harness.Started(t)
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	m.Touch("left")
	m.Ahead(func(path string) error { return os.Link(m.Path("left"), path) })
	g.Restart()
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	g.Kill()
	g = m.Start()
	if left := m.Glob("run/handover-*.sock"); len(left) > 0 {
		t.Errorf("%d sockets of processes that are gone are left, as %s", len(left), filepath.Base(left[0]))
	}
	g.Balanced()
}

// TestRestartOnAFullDisk asks for a restart while nothing can be written: the
// gateway goes on as it is and says why.
func TestRestartOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk("state", "2m")
	g := m.Start()
	g.Usable("busy")
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	free := m.Fill("state")
	g.Refusals("busy", 507, "storage_full")
	if a := g.Must("POST", "/restart", nil, 503); a.Str("code") != "restart_failed" {
		t.Errorf("restart says %s", a.Body)
	}
	if h := g.Must("GET", "/health", nil, 200); h.Str("status") != "degraded" || !strings.Contains(string(h.Body), "no space left") {
		t.Errorf("health is %s", h.Body)
	}
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	free()
	g.Usable("busy")
	if h := g.Must("GET", "/health", nil, 200); h.Str("status") != "ok" && !strings.Contains(string(h.Body), "restart") {
		t.Errorf("health is %s", h.Body)
	}
	g.Restart()
	g.Usable("busy")
}

// TestSecondSignal tells a daemon twice to end while a slow disk keeps it from ending: after the
// second signal it ends at once, as in a crash, and the next daemon takes up the messages.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][2]syscall.Signal{
		"SIGTERM twice": {syscall.SIGTERM, syscall.SIGTERM}, "SIGINT twice": {syscall.SIGINT, syscall.SIGINT},
		"SIGTERM, SIGINT": {syscall.SIGTERM, syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			g.Say("http", "echo hello").Want(t, "hello")
			id := g.Tell("http", "wait "+m.Path("go"))
			m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
			worker := m.Worker()
			disk := m.Trace(worker, "fdatasync,fsync"+harness.Hold60)
			check.OK(t, g.Cmd.Process.Signal(signals[0]))
			m.Eventually("it is ending", func() bool { return strings.Contains(m.Log.String(), `"msg":"told to end"`) })
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP)) // which is no second one
			select {
			case <-g.Done:
				t.Fatal("it has ended, and its disk has not answered yet")
			default:
			}
			check.OK(t, g.Cmd.Process.Signal(signals[1]))
			m.Eventually("no thread is left but one that waits for the disk", func() bool { return threads(worker) <= 1 })
			disk.Detach() // it may keep the process from being seen as ended
			g.WaitEnd()
			if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitFailure {
				t.Errorf("exit status %d, want %d", code, harness.ExitFailure)
			}
			if _, ended := m.Ended(); ended {
				t.Error("it has waited for its disk")
			}
			g = m.Start()
			m.Touch("go")
			if a := g.Outcome(id); signals[0] == syscall.SIGTERM {
				a.Want(t, "waited for "+m.Path("go"))
			}
			g.Balanced()
		})
	}
}

// threads counts the threads of a process that have not ended.
func threads(pid int) (n int) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none when it has ended
	for _, path := range all {
		b, err := os.ReadFile(path)
		if _, after, ok := strings.Cut(string(b), ") "); err == nil && ok && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X") {
			n++
		}
	}
	return n
}
