package upgrade

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// replaced puts a release in the place of the installed program, as a person does.
func replaced(m *harness.Machine, name string) {
	m.T.Helper()
	harness.CopyProgram(m.T, harness.ReleaseOf(m.T, name), m.Program+".mine")
	check.OK(m.T, os.Rename(m.Program+".mine", m.Program))
}

// TestRestartToABrokenProgram restarts into a program that was put in place by hand, and
// that fails when it has taken over: the one that ran goes on, and not the broken one.
func TestRestartToABrokenProgram(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, harness.MannerVariable+"=late:"+m.Path("work"))
	m.Install("v1", "")
	g := m.Start()
	sameClaude := g.SameClaude("idle")
	replaced(m, "broken")
	g.Must("POST", "/restart", nil, 200)
	m.Eventually("the program before goes on", func() bool { return strings.Contains(m.Log.String(), "the program before goes on") })
	g.Serves("v1")
	sameClaude(g)
	replaced(m, "v2")
	g.Restart()
	g.Serves("v2")
	g.Balanced()
}

// TestSignalWhileItFails tells a gateway to end while it hands over to a program that then
// fails: it ends, instead of going on as if nobody had said anything.
func TestSignalWhileItFails(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Env = append(m.Env, harness.MannerVariable+"=late:"+m.Path("late"))
			m.Install("v1", "")
			g := m.Start()
			g.Say("idle", "pid")
			replaced(m, "broken")
			g.Must("POST", "/restart", nil, 200)
			m.Eventually("it hands over", func() bool { return strings.Contains(m.Log.String(), `"msg":"handing over"`) })
			if err := g.Cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
			m.Touch("late")
			if g.WaitEnd(); g.Cmd.ProcessState.ExitCode() != harness.ExitOK {
				t.Errorf("it ends with %v", g.Cmd.ProcessState)
			}
			if left := len(m.Hosts()); (left == 0) != (sig == syscall.SIGINT) {
				t.Errorf("%d session hosts are left", left)
			}
		})
	}
}

// TestUpgradeOfAReplacedProgram upgrades where somebody has put another program in place by
// hand since the gateway was started: what is gone back to is the one that ran.
func TestUpgradeOfAReplacedProgram(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "")
	g := m.Start()
	replaced(m, "broken")
	g.Fails("v2", syscall.SIGKILL, "ended while it was on trial")
	g.Serves("v1")
	holds(m, "v1", "", "v2")
}

// TestUpgradeWithAForeignOldFile: while the new program is on trial somebody replaces what
// would be gone back to, as an upgrade of another gateway of the same program did.
func TestUpgradeWithAForeignOldFile(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "")
	g := m.Start()
	old := g.Worker()
	upgrade := m.Invoke(nil, "upgrade", "--from", harness.ReleaseOf(t, "v2"))
	now := g.OnTrial(old)
	elsewhere := *m
	elsewhere.Env = slices.Concat(m.Env, []string{"BARECLAW_STATE_DIR=" + m.Path("other"), "BARECLAW_RUNTIME_DIR=" + m.Path("other")})
	elsewhere.Upgrades(harness.ExitFailure, "another upgrade of", "--from", harness.ReleaseOf(t, "v1"))
	if err := os.Remove(m.Program + ".old"); err != nil {
		t.Error(err)
	}
	harness.CopyProgram(t, harness.ReleaseOf(t, "broken"), m.Program+".old")
	if err := proc.Signal(now.Worker, now.WorkerStart, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	upgrade.Says(harness.ExitFailure, "went back from v2 to v1")
	g.Serves("v1")
	holds(m, "v1", "", "v2")
	elsewhere.Upgrades(harness.ExitOK, "No gateway runs", "--from", harness.ReleaseOf(t, "v2"))
}

// TestUpgradeAfterADamagedRecord: nobody can say what became of the last upgrade, and the
// next one is none the worse for it.
func TestUpgradeAfterADamagedRecord(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	for _, text := range []string{"", `{"state":"trial","prog`} {
		check.OK(t, os.WriteFile(m.Path("state/"+program.Name), []byte(text), 0o600))
		if _, err := program.Load(m.Path("state")); !errors.Is(err, program.ErrDamaged) {
			t.Fatalf("the record can be read: %v", err)
		}
		g := m.Start()
		m.Upgrades(harness.ExitOK, "Upgraded from", "--from", harness.ReleaseOf(t, map[bool]string{true: "v2", false: "v1"}[text == ""]))
		g.Kill()
	}
}

// TestTrialThatCannotBeCounted starts a program that is on trial where that cannot be noted:
// it is on trial all the same.
func TestTrialThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "")
	harness.NeedStrace(t)
	g := m.Start()
	begunTrial(t, m, g, "v2")
	g.Kill()
	g = m.Start("strace", "-f", "-o", os.DevNull, "-e", "trace=renameat", "-e", "inject=renameat:error=EROFS", "-P", m.Path("state/"+program.Name))
	if a := g.Must("POST", "/restart", nil, 503); !strings.Contains(a.Str("error"), "on trial") {
		t.Errorf("restart says %s", a.Body)
	}
	if rec := m.Trial(); rec.State != program.OnTrial || rec.Starts != 1 {
		t.Errorf("the record is %+v", rec)
	}
	g.Kill()
}

// TestUpgradeWhereDirectoriesCannotBeSynced upgrades on a file system that cannot write down
// names durably, as some of those over the network: what is done is not said to have failed.
func TestUpgradeWhereDirectoriesCannotBeSynced(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	g := m.Start()
	for _, pid := range []int{g.Worker(), g.Cmd.Process.Pid} {
		m.Trace(pid, "fsync:error=EINVAL", "-P", m.Path("bin"), "-P", m.Path("state"))
	}
	m.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", harness.ReleaseOf(t, "v2"))
	g.Serves("v2")
	holds(m, "v2", "v1", "")
}

// TestStartWhileItGoesBack starts another gateway at the moment at which the program on trial
// dies, as a heartbeat may: the supervisor keeps the state directory, and goes back.
func TestStartWhileItGoesBack(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "")
	g := m.Start()
	begunTrial(t, m, g, "v2")
	now := m.LockFile()
	other := exec.Command(m.Executable(), "serve")
	other.Env, other.Dir = m.Env, m.Path("work")
	check.OK(t, other.Start())
	check.OK(t, proc.Signal(now.Worker, now.WorkerStart, syscall.SIGKILL))
	if err := other.Wait(); err == nil {
		t.Error("the other one ends well")
	}
	g.Serves("v1")
	if pid := m.LockFile().PID; pid != g.Cmd.Process.Pid {
		t.Errorf("the gateway is process %d, and %d is the one that was started", pid, g.Cmd.Process.Pid)
	}
}

// TestProgramRemovedWhileItHandsOver removes the program's file while the first process, which
// is to stay for whoever started it, still answers: it stays all the same.
func TestProgramRemovedWhileItHandsOver(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "")
	g := m.Start()
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	g.Restart()
	check.OK(t, os.Remove(m.Program))
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	if harness.Closed(g.Done) {
		t.Errorf("the first process has ended: %v", g.Cmd.ProcessState)
	}
	g.Say("http", "echo still here").Want(t, "still here")
}
