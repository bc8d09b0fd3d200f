package restart

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// TestRestartAsFirstProcess restarts a gateway that was started as process 1, as in a
// container: were that to end, everything would.
func TestRestartAsFirstProcess(t *testing.T) {
	t.Parallel()
	wrap := asFirstProcess(t)
	for name, settings := range map[string][]string{"alone": nil, "notifying": {"NOTIFY_SOCKET=/nonexistent"}} { // a container may be given one
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restartAsFirstProcess(t, harness.NewMachine(t, settings...), wrap)
		})
	}
}

func restartAsFirstProcess(t *testing.T, m *harness.Machine, wrap []string) {
	g := m.Start(wrap...)
	supervisor := m.LockFile().PID
	if supervisor == 1 {
		t.Fatal("process 1 is the supervisor, not its parent")
	}
	sameClaude := g.SameClaude("http")
	for range 2 {
		g.Restart()
		sameClaude(g)
	}
	if now := m.LockFile().PID; now != supervisor {
		t.Errorf("the supervisor was process %d, and is %d", supervisor, now)
	}
	g.Balanced()
	check.OK(t, syscall.Kill(firstProcess(t, g), syscall.SIGINT))
	g.WaitEnd()
	if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitOK {
		t.Errorf("exit status %d, want %d", code, harness.ExitOK)
	}
}

// TestFirstProcessReapsOrphans has a session leave processes to process 1: none of them stays
// as a zombie.
func TestFirstProcessReapsOrphans(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start(asFirstProcess(t)...)
	for range 3 {
		g.Say("http", "leave 1 behind").Want(t, "final: ran: behind")
	}
	first := firstProcess(t, g)
	sleeping := func() (pids []int) {
		for pid, stat := range inNamespaceOf(t, first) {
			if strings.Contains(stat, "(sleep)") {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if left := sleeping(); len(left) != 3 {
		t.Fatalf("the session has left %d processes, want 3", len(left))
	}
	g.Must("DELETE", "/channels/http", nil, 200)
	m.Eventually("what the session left is gone, zombies too", func() bool { return len(sleeping()) == 0 })
	m.Eventually("there is nothing but the gateway", func() bool { return len(inNamespaceOf(t, first)) == 4 }) // process 1, supervisor, worker and tool host
	g.Say("http", "echo hello").Want(t, "hello")
	g.Balanced()
}

// asFirstProcess returns the command that runs a program as process 1.
func asFirstProcess(t *testing.T) []string {
	t.Helper()
	wrap := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		roottest.Unavailable(t, "process 1: unshare: %v: %s", err, out)
	}
	return wrap
}

// firstProcess returns the gateway's process, which unshare has started.
func firstProcess(t *testing.T, g *harness.Gateway) int {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", g.Cmd.Process.Pid))
	check.OK(t, err)
	first, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatalf("children of unshare: %q", children)
	}
	return first
}

// inNamespaceOf returns what /proc/<pid>/stat says of each process in the PID namespace of
// one of them, zombies included.
func inNamespaceOf(t *testing.T, of int) map[int]string {
	t.Helper()
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", of))
	check.OK(t, err)
	all, err := os.ReadDir("/proc")
	check.OK(t, err)
	found := map[int]string{}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// A zombie has no namespaces any more, but its parent has.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		in, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if err == nil && in == namespace || len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(of) {
			found[pid] = string(stat)
		}
	}
	return found
}

// TestSupervisorIsKilled kills the process that was started: whoever started the gateway
// starts another one, so the worker makes way, also where the kernel sends it no signal then.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	t.Run("signal of the kernel", func(t *testing.T) { supervisorIsKilled(harness.Started(t)) })
	t.Run("no signal", func(t *testing.T) {
		const wrap = "setpriv --pdeathsig clear"
		if out, err := exec.Command("sh", "-c", wrap+" true").CombinedOutput(); err != nil {
			roottest.Unavailable(t, "the end of a supervisor without a signal: %s: %v: %s", wrap, err, out)
		}
		supervisorIsKilled(harness.Started(t, supervisor.WrapVariable+"="+wrap))
	})
}

func supervisorIsKilled(m *harness.Machine, g *harness.Gateway) {
	t := m.T
	sameClaude := g.SameClaude("idle")
	for range 2 {
		g.Restart()
	}
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	check.OK(t, g.Cmd.Process.Kill())
	g.WaitEnd()
	g = m.Start() // waits for the worker
	a := held.Answer(202)
	m.Touch("go")
	g.Outcome(a.Str("message_id")).Want(t, "waited for "+m.Path("go"))
	sameClaude(g)
	g.Balanced()
}

// TestWorkerCrashes kills the worker again and again, also after a restart: the supervisor
// starts another one, clients that connect meanwhile wait, and nothing is lost.
func TestWorkerCrashes(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Set(supervisor.CrashVariable + "=")
	g := m.Start()
	sameClaude := g.SameClaude("idle")
	finish := g.Task("http")
	for range 2 {
		g.Restart()
		h := m.LockFile()
		check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
		sameClaude(g)
		if now := m.LockFile(); now.PID != h.PID || now.Worker == h.Worker {
			t.Errorf("before the crash %+v, then %+v", h, now)
		}
	}
	finish(g)
	if g.Signal(syscall.SIGTERM); g.Cmd.ProcessState.ExitCode() != harness.ExitOK {
		t.Errorf("the gateway ends with %v", g.Cmd.ProcessState)
	}
}

// TestEndWithoutAWorker asks for the end when the worker has just crashed, before the next one
// serves: a person's Ctrl-C ends the sessions all the same.
func TestEndWithoutAWorker(t *testing.T) {
	t.Parallel()
	starts := func(m *harness.Machine, g *harness.Gateway, signals ...syscall.Signal) {
		check.OK(t, syscall.Mkfifo(m.Path("gate"), 0o600))
		crash(m)
		var gate *os.File
		m.Eventually("the next worker waits", func() (open bool) {
			var err error
			gate, err = os.OpenFile(m.Path("gate"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			return err == nil
		})
		for _, sig := range signals {
			check.OK(t, g.Cmd.Process.Signal(sig))
		}
		if len(signals) > 1 { // the worker never goes on
			m.T.Cleanup(func() { _ = gate.Close() })
			return
		}
		check.OK(t, gate.Close())
	}
	for name, c := range map[string]struct {
		end      func(m *harness.Machine, g *harness.Gateway)
		sessions int
	}{
		"SIGINT as the worker dies": {func(m *harness.Machine, g *harness.Gateway) {
			pid := g.Cmd.Process.Pid
			start, err := proc.StartTime(pid)
			check.OK(t, err)
			m.Freeze(pid, start)
			crash(m)
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGINT))
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGCONT))
		}, 0},
		"SIGINT in the pause": {func(m *harness.Machine, g *harness.Gateway) {
			crash(m)
			m.Eventually("it pauses", func() bool { return strings.Contains(m.Log.String(), "the gateway is started again") })
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGINT))
		}, 0},
		"SIGINT as the next one starts":  {func(m *harness.Machine, g *harness.Gateway) { starts(m, g, syscall.SIGINT) }, 0},
		"SIGTERM as the next one starts": {func(m *harness.Machine, g *harness.Gateway) { starts(m, g, syscall.SIGTERM) }, 1},
		"twice while the next one hangs": {func(m *harness.Machine, g *harness.Gateway) { starts(m, g, syscall.SIGINT, syscall.SIGTERM) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			wrap := m.Write("wrap", "#!/bin/sh\n[ ! -e "+m.Path("gate")+" ] || read -r _ <"+m.Path("gate")+"\nexec \"$@\"\n", 0o700)
			m.Set(supervisor.CrashVariable+"=", supervisor.WrapVariable+"="+wrap)
			g := m.Start()
			g.Say("idle", "echo hello").Want(t, "hello")
			c.end(m, g)
			if g.WaitEnd(); g.Cmd.ProcessState.ExitCode() != harness.ExitOK {
				t.Errorf("the gateway ends with %v", g.Cmd.ProcessState)
			}
			if n := len(m.Hosts()); n != c.sessions {
				t.Errorf("%d sessions are left, want %d", n, c.sessions)
			}
		})
	}
}

// crash kills the worker.
func crash(m *harness.Machine) {
	h := m.LockFile()
	check.OK(m.T, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
}

// TestStartedFromWithinASession runs the gateway as claude's Bash would: it bears
// no mark of that session, and so does not end with it.
func TestStartedFromWithinASession(t *testing.T) {
	_, g := harness.Started(t, "BARECLAW_SESSION=0123456789abcdef.4711.1")
	env, err := os.ReadFile("/proc/" + strconv.Itoa(g.Cmd.Process.Pid) + "/environ")
	if err != nil || strings.Contains(string(env), "BARECLAW_SESSION=") || !strings.Contains(string(env), "BARECLAW_CWD=") {
		t.Errorf("its environment is %q (%v)", env, err)
	}
	g.Say("http", "echo hello").Want(t, "hello")
}

// TestDaemonIsKilledDuringARestart kills it when there is a process that is to take
// over: that ends too, and the next start works.
func TestDaemonIsKilledDuringARestart(t *testing.T) {
	t.Parallel()
	for range 4 {
		m := harness.NewMachine(t)
		g := m.Start()
		check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
		m.Eventually("there are two workers", func() bool { return len(m.Processes()) > 2 })
		g.Signal(syscall.SIGKILL)
		m.Eventually("no process of it is left", func() bool { return len(m.Processes()) == 0 })
		g = m.Start()
		g.Say("http", "echo hello").Want(t, "hello")
	}
}

// TestWorkerIsKilledDuringARestart kills the worker alone while the next one prepares: that ends
// too, and the supervisor starts another one.
func TestWorkerIsKilledDuringARestart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	gate := m.Path("gate")
	wrap := m.Write("wrap", "#!/bin/sh\n[ ! -e "+gate+" ] || read -r _ <"+gate+"\nexec \"$@\"\n", 0o700)
	m.Set(supervisor.CrashVariable+"=", supervisor.WrapVariable+"="+wrap)
	g := m.Start()
	check.OK(t, syscall.Mkfifo(gate, 0o600))
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
	var open *os.File
	m.Eventually("the next worker waits", func() bool {
		var err error
		open, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	defer func() { _ = open.Close() }()
	check.OK(t, os.Remove(gate))
	crash(m)
	m.Eventually("the gateway serves again", func() bool { return strings.Count(m.Log.String(), `"msg":"ready"`) == 2 })
	if _, err := open.WriteString("-"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the worker that was to take over is still there: %v", err)
	}
	g.Say("http", "echo hello").Want(t, "hello")
	g.Balanced()
}

// TestEndWhileAnotherTakesOver asks for the end while the second worker hands over to the
// third.
func TestEndWhileAnotherTakesOver(t *testing.T) {
	m, g := harness.Started(t)
	g.Restart()
	begun := strings.Count(m.Log.String(), "handing over")
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
	m.Eventually("the second hands over", func() bool { return strings.Count(m.Log.String(), "handing over") > begun })
	g.Signal(syscall.SIGTERM)
	if h := m.LockFile(); proc.Alive(h.Worker, h.WorkerStart) {
		t.Error("the worker outlives the process that was started")
	}
}

// TestEndDuringARestart asks for a restart and for the end at nearly the same time:
// it ends, and nothing takes over when it has.
func TestEndDuringARestart(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for range 4 {
			m := harness.NewMachine(t)
			g := m.Start()
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
			g.Signal(sig)
			m.Eventually("no process of it is left", func() bool { return len(m.Processes()) == 0 })
		}
	}
}

// TestReadyWhenItIsWrittenDown delays the writes of the lock file: a daemon reports that it is
// ready only when the lock file names it, since commands read that file.
func TestReadyWhenItIsWrittenDown(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	m.Touch("state/" + lockfile.StateLockName) // strace is to know it
	g := m.Start("strace", "-f", "-qqq", "-o", os.DevNull, "-P", m.Path("state/"+lockfile.StateLockName),
		"-e", "trace=pwrite64", "-e", "inject=pwrite64:delay_enter=1000000")
	g.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: harness.HeldPatience} // the old process answers on kept connections
	for range 2 {
		g.Restart()
		if pid, err := g.PID(); err != nil || pid != m.Worker() {
			t.Errorf("process %d is ready (%v), and the lock file says %+v", pid, err, m.LockFile())
		}
	}
	g.Kill()
}
