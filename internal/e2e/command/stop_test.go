package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestStop stops a gateway that was started by hand: its turn goes on, nothing starts it
// but a person, and the next one takes the turn up.
func TestStop(t *testing.T) {
	m, g := harness.Started(t, harness.SlotLength(0))
	h := g.LockFile()
	id := g.Tell("desk", "wait "+g.Path("go"))
	g.Begins("wait ")
	claude := g.Hosts()["desk"].ClaudePID
	m.Command(harness.ExitOK, "stop").Shows("Stopped the gateway (pid "+strconv.Itoa(h.PID)+") in ", "1 session kept", "It stays down until you start it, with `bareclaw start`.")
	g.WaitEnd()
	if proc.Alive(h.PID, h.Start) || !m.LockFile().Ended || g.Hosts()["desk"].ClaudePID != claude {
		t.Errorf("the gateway: %+v, hosts: %v", m.LockFile(), g.Hosts())
	}
	m.Command(exitcode.Unreachable, "status").Tells("the gateway is not running: you stopped it at ", "Start it with `bareclaw start`")
	last, _ := m.Command(exitcode.Unreachable, "status", "--json").Document().JSON["last"].(map[string]any)
	if last["stopped_at"] == nil || last["crashed"] != false {
		t.Errorf("the last gateway is %v", last)
	}
	if out := m.Beat(0); !strings.Contains(out, "stopped by you") || m.Outcomes() != "stopped" || lockfile.IsStateHeld(m.Path("state")) {
		t.Errorf("a tick made %q of it, and says\n%s", m.Outcomes(), out)
	}
	g = m.Start()
	m.Touch("go")
	g.Outcome(id).Want(t, "waited for "+g.Path("go"))
	m.Command(harness.ExitOK, "status")
	g.Kill()
	m.Command(exitcode.Unreachable, "status").Tells("crashed or was killed") // and may be revived
}

// TestStopCounts until the machine boots: a tick starts what was stopped in another boot,
// and leaves alone what Ctrl-C has ended in this one.
func TestStopCounts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.SlotLength(0), "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK")
	m.Start().Signal(syscall.SIGINT)
	m.Beat(0)
	m.WantBeats("stopped", 0)
	files := m.Glob("state/stopped.json")
	if len(files) != 1 {
		t.Fatalf("marks: %v", files)
	}
	var mark map[string]any
	b, err := os.ReadFile(files[0])
	check.OK(t, err)
	check.OK(t, json.Unmarshal(b, &mark))
	mark["boot_id"] = "another"
	b, err = json.Marshal(mark)
	check.OK(t, err)
	check.OK(t, os.WriteFile(files[0], b, 0o600))
	m.Beat(0)
	m.Holder()
	m.WantBeats("stopped, ok", 1)
}

// TestStopWhileATickStarts: whether the stop comes before or after the gateway that a tick
// starts, the gateway is down in the end, and stays down.
func TestStopWhileATickStarts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.SlotLength(0))
	tick := m.Invoke(nil, "heartbeat", "run")
	m.Eventually("the tick starts a gateway", func() bool { return strings.Contains(tick.Out.String(), "the gateway is down: starting") })
	_, _, _ = m.Run("stop") // unreachable, if the gateway has not come that far
	<-tick.Done
	if m.Beat(0); lockfile.IsStateHeld(m.Path("state")) || !strings.HasSuffix(m.Outcomes(), "stopped") {
		t.Errorf("outcomes: %s", m.Outcomes())
	}
}

// TestStopWithSessions ends every session, those too that an earlier stop has left.
func TestStopWithSessions(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for i, first := range [][]string{{"stop"}, {"stop", "--now"}, nil} {
		g := m.Start()
		g.Say("desk", "echo one")
		text := "wait " + g.Path("never"+strconv.Itoa(i))
		g.Tell("ops", text)
		g.Begins(text)
		if first != nil {
			m.Command(harness.ExitOK, first...).Shows("2 sessions kept")
			g.WaitEnd()
		}
		m.Command(harness.ExitOK, "stop", "--sessions").Shows("Ended 2 sessions.")
		if hosts := m.Hosts(); len(hosts) > 0 {
			t.Errorf("after %v hosts are left: %v", first, hosts)
		}
		g.WaitEnd()
		g.Touch("never" + strconv.Itoa(i)) // the next gateway runs the turn again
	}
	m.NobodyLeft()
}

// TestStopHung: a gateway that does not listen is waited for, which is told, and killed by
// --now.
func TestStopHung(t *testing.T) {
	m, g := harness.Started(t)
	h := g.LockFile()
	m.Freeze(h.PID, h.Start)
	waits := m.Invoke(nil, "stop")
	m.Eventually("it is told that the gateway is waited for", func() bool {
		return strings.Contains(waits.Err.String(), "still waiting for the gateway to end") && strings.Contains(waits.Err.String(), "`bareclaw stop --now`")
	})
	doc := m.Command(harness.ExitOK, "stop", "--now", "--json").Document()
	if !doc.Flag("running") || doc.JSON["pid"] != float64(h.PID) || proc.Alive(h.PID, h.Start) {
		t.Errorf("it says %s", doc.Body)
	}
	waits.Wait(harness.ExitOK)
	g.WaitEnd()
	m.Quick().Tells(doctor.Warning, "gateway_down", "stopped by you") // and has not died
}

// TestStopTwice stops a gateway twice at once, while a request is held that takes a while to
// answer: the gateway ends as it was told to.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--sessions"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			m, g := harness.Started(t)
			id := g.Tell("desk", "wait "+g.Path("go"))
			g.Begins("wait ")
			go func() { _, _ = g.Do("GET", "/messages/"+id+"?wait=1m", nil) }() // ends with the gateway
			var stops []*harness.Invocation
			for range 3 {
				stops = append(stops, m.Invoke(nil, append([]string{"stop"}, flags...)...))
			}
			for _, s := range stops {
				<-s.Done
				if status := s.Cmd.ProcessState.ExitCode(); status != harness.ExitOK && status != exitcode.Unreachable { // it came late
					t.Errorf("a stop ended with status %d: %s", status, s.Err.String())
				}
			}
			g.WaitEnd()
			if status := g.Cmd.ProcessState.ExitCode(); status != harness.ExitOK || !m.LockFile().Ended {
				t.Errorf("the gateway ended with status %d, and wrote down %+v", status, m.LockFile())
			}
			m.Touch("go")
		})
	}
}

// TestStopAfterRestart stops the process that has taken over; the first one, for which a
// shell waits, ends with it.
func TestStopAfterRestart(t *testing.T) {
	m, g := harness.Started(t)
	generation := g.Generation()
	g.Must("POST", "/restart", nil, http.StatusOK)
	g.Restarted(generation)
	m.Command(harness.ExitOK, "stop").Shows("Stopped the gateway (pid " + strconv.Itoa(m.LockFile().PID) + ")")
	g.WaitEnd()
	if status := g.Cmd.ProcessState.ExitCode(); status != harness.ExitOK {
		t.Errorf("the first process ended with status %d", status)
	}
}

// TestStopThatIsInterrupted: a person does not wait for the end of a gateway whose worker has just
// crashed. The next worker ends when it serves, and nothing starts another gateway.
func TestStopThatIsInterrupted(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.SlotLength(0))
	gate := m.Path("gate")
	wrap := m.Write("wrap", "#!/bin/sh\n[ ! -e "+gate+" ] || read -r _ <"+gate+"\nexec \"$@\"\n", 0o700)
	m.Set(supervisor.CrashVariable+"=", supervisor.WrapVariable+"="+wrap)
	g := m.Start()
	check.OK(t, syscall.Mkfifo(gate, 0o600))
	h := m.LockFile()
	check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	var open *os.File
	m.Eventually("the next worker waits", func() bool {
		var err error
		open, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	stop := m.Invoke(nil, "stop")
	m.Eventually("stop has told the gateway to end", func() bool { return strings.Contains(stop.Err.String(), "still waiting for the gateway to end") })
	check.OK(t, stop.Cmd.Process.Signal(os.Interrupt))
	stop.Ends(exitcode.Interrupted)
	check.OK(t, os.Remove(gate))
	check.OK(t, open.Close())
	g.WaitEnd()
	if out := m.Beat(0); !strings.Contains(out, "stopped by you") || m.Outcomes() != "stopped" || lockfile.IsStateHeld(m.Path("state")) {
		t.Errorf("a tick made %q of it, and says\n%s", m.Outcomes(), out)
	}
}

// TestStopNobody: where no gateway runs, stop says so with an exit status of its own. Within
// a session stop is refused.
func TestStopNobody(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Command(exitcode.Unreachable, "stop").Tells("no gateway runs here", m.Path("state"))
	doc := m.Command(exitcode.Unreachable, "stop", "--json", "--sessions").Document()
	if doc.Flag("running") || doc.JSON["sessions_ended"] != 0.0 {
		t.Errorf("it says %s", doc.Body)
	}
	g := m.Start()
	in := m.With("BARECLAW_SOCKET=" + g.Sock)
	in.Command(harness.ExitFailure, "stop").Tells("in a terminal of your own")
	if _, err := os.Stat(filepath.Join(m.Path("state"), "stopped.json")); err == nil {
		t.Error("a refused stop has left its mark")
	}
	m.Command(harness.ExitUsage, "stop", "--soon")
	m.Command(harness.ExitOK, "stop")
}
