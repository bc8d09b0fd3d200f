package upgrade

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// restartsCrashes lets a gateway start a worker that crashes again, as outside of tests.
const restartsCrashes = "BARECLAW_TEST_CRASHES="

// inPlace waits until the release is the installed program.
func inPlace(m *harness.Machine, name string) {
	m.T.Helper()
	want, err := program.Sum(harness.ReleaseOf(m.T, name))
	check.OK(m.T, err)
	m.Eventually(name+" is in place", func() bool {
		sum, err := program.Sum(m.Program)
		return err == nil && sum == want
	})
}

// requestUpgrade asks for an upgrade, whose answer may never come.
func requestUpgrade(g *harness.Gateway, name string) (over <-chan struct{}) {
	done, path := make(chan struct{}), harness.ReleaseOf(g.T, name)
	go func() { // ends with the request
		defer close(done)
		_, _ = g.Do("POST", "/upgrade", harness.Obj{"path": path})
	}()
	return done
}

// victims are the processes that a test kills: worker and supervisor of a gateway.
var victims = map[string]func(lockfile.Holder) []proc.Process{
	"worker":     func(h lockfile.Holder) []proc.Process { return []proc.Process{{PID: h.Worker, Start: h.WorkerStart}} },
	"supervisor": func(h lockfile.Holder) []proc.Process { return []proc.Process{{PID: h.PID, Start: h.Start}} },
	"both": func(h lockfile.Holder) []proc.Process {
		return []proc.Process{{PID: h.PID, Start: h.Start}, {PID: h.Worker, Start: h.WorkerStart}}
	},
}

// TestKilledWhileItStartsAProgramThatHangs kills processes of a gateway while the program of an
// upgrade, which is in place already and never gets ready, is being started: whoever starts next,
// and however often, the old program is back, and serves.
func TestKilledWhileItStartsAProgramThatHangs(t *testing.T) {
	t.Parallel()
	for name, of := range victims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, harness.MannerVariable+"=mute", restartsCrashes)
			m.Install("v1", "1s")
			g := m.Start()
			finish := g.Task("http")
			over := requestUpgrade(g, "broken")
			inPlace(m, "broken")
			for _, p := range of(m.LockFile()) {
				check.OK(t, proc.Signal(p.PID, p.Start, syscall.SIGKILL))
			}
			<-over
			if name != "worker" {
				g.WaitEnd()
				g = m.Start() // at once: the old worker may be leaving still
			}
			g.Serves("v1")
			holds(m, "v1", "", "broken")
			if rec := m.Trial(); rec.State != program.WentBack || rec.Reason == "" {
				t.Errorf("the record is %+v", rec)
			}
			runs(m, g, "v1")
			finish(g)
			m.Env = append(m.Env, harness.MannerVariable+"=") // which the next start reads
			m.Upgrades(harness.ExitOK, "to v2", "--from", harness.ReleaseOf(t, "v2"))
			g.Balanced()
		})
	}
}

// TestKilledAtEveryStepOfAnUpgrade kills the worker, the supervisor, or both, at each call between
// the staging of a program and its confirmation, and starts the gateway at once where its
// supervisor was killed: what is in place, what runs, and what is said of it always agree.
func TestKilledAtEveryStepOfAnUpgrade(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	const steps = "write,sendmsg,linkat,renameat,fsync,fdatasync"
	for name := range victims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, restartsCrashes)
			m.Install("v1", "200ms")
			g := m.Start()
			finish := g.Task("http")
			kills, now, next := 0, "v1", "v2"
			for n, quiet := 1, 0; quiet < 2 && n < 200 && !t.Failed(); n++ {
				if !harness.Soak() {
					n += n / 8
				}
				h := m.LockFile()
				traced := h.Worker
				if name == "supervisor" {
					traced = h.PID
				}
				tr := m.Trace(traced, fmt.Sprintf("%s:signal=SIGKILL:when=%d", steps, n))
				<-requestUpgrade(g, next)
				m.Eventually("the upgrade is over", func() bool { // which its answer is not
					return !proc.Alive(traced, startOf(h, traced)) || now != versionInPlace(m, now, next) && m.Trial().State == program.Confirmed
				})
				tr.Detach()
				killed := !proc.Alive(traced, startOf(h, traced)) // perhaps after it was over
				if killed && name != "worker" {
					if name == "both" {
						check.OK(t, proc.Signal(h.PID, h.Start, syscall.SIGKILL))
					}
					g.WaitEnd()
					g = m.Start()
				}
				quiet++
				agreed(m, g, now, next)
				if killed {
					kills, quiet = kills+1, 0
					g.Signal(syscall.SIGTERM) // or pauses after crashes would grow
					g = m.Start()
				}
				if now != versionInPlace(m, now, next) {
					now, next = next, now
				}
			}
			t.Logf("%d kills", kills)
			if kills == 0 {
				t.Error("nothing was killed")
			}
			finish(g)
			g.Balanced()
		})
	}
}

func startOf(h lockfile.Holder, pid int) uint64 {
	if pid == h.PID {
		return h.Start
	}
	return h.WorkerStart
}

// versionInPlace returns which of two releases is the installed program.
func versionInPlace(m *harness.Machine, one, other string) string {
	m.T.Helper()
	have, err := program.Sum(m.Program)
	check.OK(m.T, err)
	want, err := program.Sum(harness.ReleaseOf(m.T, one))
	check.OK(m.T, err)
	if have == want {
		return one
	}
	return other
}

// agreed waits until the last upgrade is over, and fails unless file, processes and record agree.
func agreed(m *harness.Machine, g *harness.Gateway, from, to string) {
	m.T.Helper()
	m.Eventually("no upgrade is on trial", func() bool {
		rec, err := program.Load(m.Path("state"))
		return err == nil && (rec == nil || rec.State != program.OnTrial)
	})
	is := versionInPlace(m, from, to)
	g.Serves(is)
	runs(m, g, is)
	rec, err := program.Load(m.Path("state"))
	switch {
	case err != nil:
		m.T.Error(err)
	case rec == nil: // it was killed before anything was written
		if is != from {
			m.T.Errorf("%s is in place, and nothing is recorded", is)
		}
	case rec.State == program.Confirmed && rec.To.Version != is, rec.State == program.WentBack && rec.From.Version != is:
		m.T.Errorf("%s runs, and the record is %+v", is, rec)
	}
}

// TestSupervisorThatStoodStill stops the supervisor, while an upgrade is on trial, for longer than
// a new program may be silent: the reports of the worker wait for it, and the program stays, though
// reading them takes a moment.
func TestSupervisorThatStoodStill(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "20s")
	g := m.Start()
	begunTrial(t, m, g, "v2")
	h := m.LockFile()
	m.Trace(g.Cmd.Process.Pid, "recvmsg:delay_enter=300000")
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	m.Eventually("a worker on trial would have been silent for too long", func() bool { return time.Since(stopped) > 14*time.Second })
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGCONT))
	m.Eventually("the upgrade is over", func() bool { return m.Trial().State != program.OnTrial })
	if rec := m.Trial(); rec.State != program.Confirmed || !proc.Alive(h.Worker, h.WorkerStart) {
		t.Errorf("the record is %+v; the worker on trial is alive: %t", rec, proc.Alive(h.Worker, h.WorkerStart))
	}
}

// TestReloadWhileTheSupervisorIsReplaced sends SIGHUP while the supervisor replaces its own program,
// which takes a while here: the gateway restarts all the same.
func TestReloadWhileTheSupervisorIsReplaced(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "5s")
	harness.NeedStrace(t)
	g := m.Start()
	begunTrial(t, m, g, "v2")
	m.HoldExec(g.Cmd.Process.Pid)
	m.Eventually("the supervisor is about to be replaced", func() bool { return harness.InCall(g.Cmd.Process.Pid, syscall.SYS_EXECVE) })
	generation := g.Generation()
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
	g.Restarted(generation)
	runs(m, g, "v2")
	m.Eventually("the worker takes SIGHUP", func() bool { // Go blocks all signals for moments
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Worker()))
		return err == nil && regexp.MustCompile(`SigBlk:\t[0-9a-f]{15}[02468ace]\n`).Match(status)
	})
}
