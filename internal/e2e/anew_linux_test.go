package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/daemon"
	"bareclaw/internal/lockfile"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/proc"
)

// replaced puts a release in the place of the installed program, as a person does.
func (m *machine) replaced(name string) {
	m.t.Helper()
	copyProgram(m.t, releaseOf(m.t, name), m.program+".mine")
	if err := os.Rename(m.program+".mine", m.program); err != nil {
		m.t.Fatal(err)
	}
}

// TestRestartToABrokenProgram restarts into a program that was put in place by hand, and
// that fails when it has taken over: the one that ran goes on, and not the broken one.
func TestRestartToABrokenProgram(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, mannerVariable+"=late:"+m.path("work"))
	m.install("v1", "")
	g := m.start()
	claude := g.say("idle", "pid").str("text")
	m.replaced("broken")
	g.must("POST", "/restart", nil, 200)
	m.eventually("it starts anew", func() bool { return strings.Contains(m.log.String(), "starting anew") })
	g.serves("v1")
	if now := g.say("idle", "pid").str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
	m.replaced("v2")
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	g.serves("v2")
	g.balanced()
}

// TestSignalWhileItFails tells a gateway to end while it hands over to a program that then
// fails: it ends, instead of going on as if nobody had said anything.
func TestSignalWhileItFails(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env = append(m.env, mannerVariable+"=late:"+m.path("late"))
			m.install("v1", "")
			g := m.start()
			g.say("idle", "pid")
			m.replaced("broken")
			g.must("POST", "/restart", nil, 200)
			m.eventually("it hands over", func() bool { return strings.Contains(m.log.String(), `"msg":"handing over"`) })
			if err := g.cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
			m.touch("late")
			if g.waitEnd(); g.cmd.ProcessState.ExitCode() != exitOK {
				t.Errorf("it ends with %v", g.cmd.ProcessState)
			}
			if left := len(m.hosts()); (left == 0) != (sig == syscall.SIGINT) {
				t.Errorf("%d session hosts are left", left)
			}
		})
	}
}

// TestUpgradeOfAReplacedProgram upgrades where somebody has put another program in place by
// hand since the gateway was started: what is gone back to is the one that ran.
func TestUpgradeOfAReplacedProgram(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "")
	g := m.start()
	m.replaced("broken")
	g.fails("v2", syscall.SIGKILL, "ended while it was on trial")
	g.serves("v1")
	m.holds("v1", "", "v2")
}

// TestUpgradeWithAForeignOldFile: while the new program is on trial somebody replaces what
// would be gone back to, as an upgrade of another gateway of the same program did.
func TestUpgradeWithAForeignOldFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "")
	g := m.start()
	wait := m.commanded("upgrade", "--from", releaseOf(t, "v2"))
	now := g.onTrial(g.cmd.Process.Pid)
	elsewhere := *m
	elsewhere.env = slices.Concat(m.env, []string{"BARECLAW_STATE_DIR=" + m.path("other"), "BARECLAW_RUNTIME_DIR=" + m.path("other")})
	elsewhere.upgrades(exitFailure, "another upgrade of", "--from", releaseOf(t, "v1"))
	if err := os.Remove(m.program + ".old"); err != nil {
		t.Error(err)
	}
	copyProgram(t, releaseOf(t, "broken"), m.program+".old")
	if err := proc.Signal(now.PID, now.Start, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if r := wait(); r.status != exitFailure || !strings.Contains(r.out+r.err, "went back from v2 to v1") {
		t.Errorf("upgrade ends with %d\n%s%s", r.status, r.out, r.err)
	}
	g.serves("v1")
	m.holds("v1", "", "v2")
	elsewhere.upgrades(exitOK, "No gateway runs", "--from", releaseOf(t, "v2"))
}

// TestUpgradeAfterADamagedRecord: nobody can say what became of the last upgrade, and the
// next one is none the worse for it.
func TestUpgradeAfterADamagedRecord(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	for _, text := range []string{"", `{"state":"trial","prog`} {
		if err := os.WriteFile(m.path("state/"+program.Name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := program.Load(m.path("state")); !errors.Is(err, program.ErrDamaged) {
			t.Fatalf("the record can be read: %v", err)
		}
		g := m.start()
		m.upgrades(exitOK, "Upgraded from", "--from", releaseOf(t, map[bool]string{true: "v2", false: "v1"}[text == ""]))
		g.kill()
	}
}

// TestTrialThatCannotBeCounted starts a program that is on trial where that cannot be noted:
// it is on trial all the same.
func TestTrialThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "")
	needStrace(t)
	g := m.start()
	begunTrial(t, m, g, "v2")
	g.kill()
	g = m.start("strace", "-f", "-b", "execve", "-o", os.DevNull, "-e", "trace=renameat", "-e", "inject=renameat:error=EROFS", "-P", m.path("state/"+program.Name))
	if a := g.must("POST", "/restart", nil, 503); !strings.Contains(a.str("error"), "on trial") {
		t.Errorf("restart says %s", a.body)
	}
	if rec := m.trial(); rec.State != program.OnTrial || rec.Starts != 1 {
		t.Errorf("the record is %+v", rec)
	}
	g.kill()
}

// TestUpgradeWhereDirectoriesCannotBeSynced upgrades on a file system that cannot write down
// names durably, as some of those over the network: what is done is not said to have failed.
func TestUpgradeWhereDirectoriesCannotBeSynced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	g := m.start()
	m.trace(g.cmd.Process.Pid, "fsync:error=EINVAL", "-P", m.path("bin"), "-P", m.path("state"))
	m.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"))
	g.serves("v2")
	m.holds("v2", "v1", "")
}

// TestStartWhileItGoesBack starts another gateway at the moment at which the program on trial
// dies, as a heartbeat may: the one that whoever started the gateway knows goes on.
func TestStartWhileItGoesBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "")
	g := m.start()
	begunTrial(t, m, g, "v2")
	now := m.lockFile()
	other := exec.Command(m.executable(), "serve")
	other.Env, other.Dir = m.env, m.path("work")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	lock := m.path("state/" + lockfile.StateLockName)
	m.eventually("the other one waits for the lock", func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", other.Process.Pid))
		return slices.ContainsFunc(files, func(file string) bool {
			path, err := os.Readlink(file)
			return err == nil && path == lock
		})
	})
	if err := proc.Signal(now.PID, now.Start, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.eventually("somebody serves", func() bool { h := m.lockFile(); return h.PID != now.PID && proc.Alive(h.PID, h.Start) })
	if pid := m.lockFile().PID; closed(g.done) || pid != g.cmd.Process.Pid {
		t.Errorf("the gateway is process %d, and %d is the one that was started", pid, g.cmd.Process.Pid)
		_ = other.Process.Kill()
	}
	if err := other.Wait(); err == nil {
		t.Error("the other one ends well")
	}
	g.serves("v1")
}

// TestProgramRemovedWhileItHandsOver removes the program's file while the first process, which
// is to stay for whoever started it, still answers: it stays all the same.
func TestProgramRemovedWhileItHandsOver(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "")
	g := m.start()
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	if err := os.Remove(m.program); err != nil {
		t.Fatal(err)
	}
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	m.eventually("the first process is a keeper", func() bool {
		said, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", g.cmd.Process.Pid))
		return closed(g.done) || strings.Contains(string(said), "\x00"+daemon.KeepSubcommand+"\x00")
	})
	if closed(g.done) {
		t.Errorf("the first process has ended: %v", g.err)
	}
	g.say("http", "echo still here").want(t, "still here")
}
