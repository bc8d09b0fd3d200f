package upgrade

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestUpgrade upgrades the gateway in the middle of a turn, and goes back again.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	g := m.Start()
	sameClaude := g.SameClaude("http")
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	m.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", harness.ReleaseOf(t, "v2"), "--channel", "http")
	g.Serves("v2")
	holds(m, "v2", "v1", "")
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	sameClaude(g)
	if n := m.Begun("wait"); n != 1 {
		t.Errorf("%d turns begun, want 1", n)
	}
	if u := g.Must("GET", "/upgrade", nil, 200); u.Str("state") != "confirmed" || u.Str("from") != "v1" || u.Str("to") != "v2" || u.Str("channel") != "http" {
		t.Errorf("the last upgrade is %s", u.Body)
	}
	m.Upgrades(harness.ExitOK, "Went back from v2 to v1", "--rollback") // at once: nothing is under way any more
	if !strings.Contains(m.Log.String(), "The gateway was upgraded from v1 to v2.") {
		t.Error("the next upgrade has hidden what became of the one before")
	}
	g.Serves("v1")
	holds(m, "v1", "v2", "")
	g.Say("http", "echo still here").Want(t, "still here")
	g.Balanced()
}

// TestUpgradeThatFails has the new program fail in each way: the old one goes on, or is
// back, and every message has its one answer.
func TestUpgradeThatFails(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct {
		says string
		sig  syscall.Signal // that it gets on trial; 0 for a program that comes to none
	}{
		"dies": {"exit status 7", 0}, "mute": {"not ready within", 0},
		"late:/":        {"this release is broken", 0}, // when it has taken over
		"dies on trial": {"ended while it was on trial", syscall.SIGKILL}, "hangs on trial": {"does not answer", syscall.SIGSTOP},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, harness.MannerVariable+"="+how)
			m.Install("v1", "")
			g := m.Start()
			sameClaude := g.SameClaude("idle")
			finish := g.Task("http")
			name := "v2"
			if c.sig != 0 {
				g.Fails(name, c.sig, c.says)
			} else {
				name = "broken"
				m.Upgrades(harness.ExitFailure, c.says, "--from", harness.ReleaseOf(t, name))
			}
			g.Serves("v1")
			holds(m, "v1", "", name)
			if rec := m.Trial(); rec.State != program.WentBack || !strings.Contains(rec.Reason, c.says) {
				t.Errorf("the record is %+v", rec)
			}
			if pid := g.LockFile().PID; pid != g.Cmd.Process.Pid {
				t.Errorf("the daemon is %d, and was started as %d", pid, g.Cmd.Process.Pid)
			}
			finish(g)
			sameClaude(g)
			if n := m.Begun("wait"); n != 1 {
				t.Errorf("%d turns begun, want 1", n)
			}
			m.Eventually("the log tells it", func() bool {
				return strings.Contains(m.Log.String(), "The gateway went back from "+name+" to v1")
			})
			g.Balanced()
			g.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2")}, 200) // it can be tried again
			g.Serves("v2")
		})
	}
}

// TestUpgradeAfterUpgrades upgrades after a restart, an upgrade that failed and an upgrade:
// all the time the process that was started stays, and runs the last program that passed.
func TestUpgradeAfterUpgrades(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "8s") // longer than the new program may live before it is killed
	g := m.Start()
	g.Restart()
	g.Fails("v2", syscall.SIGKILL, "ended while it was on trial")
	g.Serves("v1")
	g.Say("http", "echo still here").Want(t, "still here")
	for turns, name := range []string{"v2", "v3"} {
		m.Write("work/.env", fmt.Sprintf("BARECLAW_MAX_TURNS=%d\n", turns+3), 0o600)
		m.Upgrades(harness.ExitOK, "to "+name, "--from", harness.ReleaseOf(t, name))
		g.Serves(name)
		runs(m, g, name)
	}
	m.Write("work/.env", "BARECLAW_MAX_TURNS=9\n", 0o600)
	g.Restart()
	if args := g.Say("new", "args").Str("text"); !strings.Contains(args, `"--max-turns","9"`) {
		t.Errorf("the gateway does not go by what .env says now: claude was started with %s", args)
	}
	if g.Signal(syscall.SIGTERM); g.Cmd.ProcessState.ExitCode() != harness.ExitOK {
		t.Errorf("the first process ends with %v", g.Cmd.ProcessState)
	}
}

// TestSupervisorCannotReplaceItself makes the new program's file one that cannot be executed
// when its trial ends: the supervisor goes on with its own program, restarts when it is asked
// to, and then replaces its program.
func TestSupervisorCannotReplaceItself(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "8s") // longer than the file needs to be closed
	g := m.Start()
	begunTrial(t, m, g, "v2")
	check.OK(t, os.Chmod(m.Program, 0o600))
	m.Eventually("the supervisor keeps its program", func() bool { return strings.Contains(m.Log.String(), "cannot replace its own program") })
	check.OK(t, os.Chmod(m.Program, 0o755))
	generation := g.Generation()
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
	g.Restarted(generation)
	runs(m, g, "v2")
}

// runs waits until the supervisor runs a release.
func runs(m *harness.Machine, g *harness.Gateway, name string) {
	m.T.Helper()
	want, err := program.Sum(harness.ReleaseOf(m.T, name))
	check.OK(m.T, err)
	var last os.FileInfo
	m.Eventually("the supervisor runs "+name, func() bool {
		exe := fmt.Sprintf("/proc/%d/exe", g.Cmd.Process.Pid)
		now, err := os.Stat(exe)
		if err != nil || os.SameFile(last, now) {
			return false
		}
		sum, err := program.Sum(exe)
		if err == nil {
			last = now
		}
		return err == nil && sum == want
	})
}

// begunTrial begins an upgrade whose trial takes long, and returns when the new program
// serves.
func begunTrial(t *testing.T, m *harness.Machine, g *harness.Gateway, name string) {
	t.Helper()
	m.T = t
	if a := g.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, name)}, 200); a.Str("status") != "restarting" {
		t.Errorf("upgrade says %s", a.Body)
	}
	g.Serves(name)
}

// TestTrialIsCutShort kills processes while an upgrade is on trial: the next start goes
// on with it, and nothing is lost. The third such start goes back.
func TestTrialIsCutShort(t *testing.T) {
	t.Parallel()
	for name, newToo := range map[string]bool{"supervisor": false, "both": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Install("v1", "1s")
			short := m.Env
			m.Env = slices.Concat(short, []string{harness.TrialVariable + "=1h"})
			g := m.Start()
			finish := g.Task("http")
			begunTrial(t, m, g, "v2")
			for i := range 2 {
				if rec := m.Trial(); rec.State != program.OnTrial {
					t.Errorf("the record is %+v", rec)
				}
				daemon := m.LockFile()
				if newToo {
					g.Kill()
				} else {
					_ = g.Cmd.Process.Kill()
				}
				g.WaitEnd()
				m.Eventually("the worker ends too", func() bool { return !proc.Alive(daemon.Worker, daemon.WorkerStart) })
				if !newToo && i == 1 { // what was told to end need not be at fault
					m.Env = short
				}
				g = m.Start()
			}
			if !newToo {
				g.Serves("v2")
				m.Eventually("it is confirmed", func() bool { return m.Trial().State == program.Confirmed })
				holds(m, "v2", "v1", "")
			} else {
				g.Serves("v1")
				holds(m, "v1", "", "v2")
				if rec := m.Trial(); rec.State != program.WentBack || !strings.Contains(rec.Reason, "started 3 times") {
					t.Errorf("the record is %+v", rec)
				}
			}
			finish(g)
		})
	}
}

// TestTrialIsEnded tells the gateway to end, or to restart, while an upgrade is on trial.
func TestTrialIsEnded(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	short := m.Env
	m.Env = slices.Concat(short, []string{harness.TrialVariable + "=1h"})
	g := m.Start()
	begunTrial(t, m, g, "v2")
	if a := g.Must("POST", "/restart", nil, 503); !strings.Contains(a.Str("error"), "on trial") {
		t.Errorf("restart says %s", a.Body)
	}
	if a := g.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v1")}, 409); a.Str("code") != "upgrade_running" {
		t.Errorf("another upgrade: %s", a.Body)
	}
	m.Command(harness.ExitFailure, "serve") // another gateway decides nothing about it, and counts nothing
	if rec := m.Trial(); rec.State != program.OnTrial {
		t.Errorf("the record is %+v", rec)
	}
	g.Signal(syscall.SIGTERM)
	if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitOK {
		t.Errorf("it ends with %d", code)
	}
	m.Env = short
	g = m.Start()
	g.Serves("v2")
	m.Eventually("it is confirmed", func() bool { return m.Trial().State == program.Confirmed })
	if rec := m.Trial(); rec.Starts != 1 {
		t.Errorf("it counts %d starts", rec.Starts)
	}
}

// TestUpgradeRefuses tries what is no program to upgrade to.
func TestUpgradeRefuses(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	put := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := m.Path(name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		check.OK(t, os.Chmod(path, mode))
		return path
	}
	open := m.Path("open")
	harness.CopyProgram(t, harness.ReleaseOf(t, "v2"), open)
	check.OK(t, os.Chmod(open, 0o775))
	check.OK(t, syscall.Mkfifo(m.Path("pipe"), 0o700))
	says := func(json string) string { return "#!/bin/sh\necho '" + json + "'\n" }
	older := put("older", says(fmt.Sprintf(`{"version":"v0","os":%q,"arch":%q,"schema":1}`, runtime.GOOS, runtime.GOARCH)), 0o700)
	cases := map[string]string{
		m.Path("none"):                            "no such file",
		put("plain", "#!/bin/sh\n", 0o600):        "not executable: chmod u+x",
		put("passwd", "root:x:0:0:\n", 0o644):     "is not a program",
		open:                                      "chmod go-w",
		m.Path("pipe"):                            "not a regular file",
		put("elf", "\x7fELF rubbish", 0o700):      "not a program for this machine",
		put("mute", "#!/bin/sh\nexit 3\n", 0o700): "does not answer",
		put("other", says("hello"), 0o700):        "something else than a bareclaw",
		put("foreign", says(`{"version":"v9","os":"plan9","arch":"mips","schema":9}`), 0o700): "is for plan9/mips",
		older:          "what was changed since cannot be undone",
		m.Path("work"): "is neither a program",
	}
	g := m.Start()
	for path, want := range cases {
		m.Upgrades(harness.ExitFailure, want, "--from", path)
		if path == m.Path("work") {
			continue // a directory is for the command alone
		}
		if a := g.Must("POST", "/upgrade", harness.Obj{"path": path}, 503); a.Str("code") != "upgrade_failed" || !strings.Contains(a.Str("error"), want) {
			t.Errorf("%s: the gateway says %s", path, a.Body)
		} else if strings.Contains(want, "is not a program") && strings.Contains(a.Str("error"), "chmod") {
			t.Errorf("%s: the gateway would have it made a program: %s", path, a.Body)
		}
	}
	m.Upgrades(harness.ExitFailure, "runs already", "--from", m.Program)
	m.Upgrades(harness.ExitFailure, "no program to go back to", "--rollback")
	for _, args := range [][]string{nil, {"--from", "x", "--rollback"}} {
		m.Upgrades(harness.ExitUsage, "either --from", args...)
	}
	holds(m, "v1", "", "")
	g.Signal(syscall.SIGTERM)
	m.Upgrades(harness.ExitFailure, "what was changed since cannot be undone", "--from", older)
	holds(m, "v1", "", "")
	m.Upgrades(harness.ExitOK, "No gateway runs", "--from", harness.ReleaseOf(t, "v2"))
	holds(m, "v2", "v1", "")
	m.Upgrades(harness.ExitFailure, "already", "--from", harness.ReleaseOf(t, "v2"))
	m.Upgrades(harness.ExitOK, `{"after":"v1","tried":false}`, "--json", "--rollback")
	holds(m, "v1", "v2", "")
}

// TestUpgradeOutOfReach: a gateway that runs and is not found, as from another login, is not
// taken for none: nothing would be tried, and nobody would go back.
func TestUpgradeOutOfReach(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	m.Start()
	elsewhere := m.With("BARECLAW_RUNTIME_DIR=" + m.Path("elsewhere"))
	elsewhere.Upgrades(harness.ExitFailure, "cannot be reached", "--from", harness.ReleaseOf(t, "v2"))
	holds(m, "v1", "", "")
}

// TestUpgradeAfterAClockWasSetBack: the last upgrade began later than this one, by the clock.
func TestUpgradeAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "1s")
	last := program.Trial{State: program.Confirmed, Notified: true, BeganAt: time.Now().AddDate(9, 0, 0)}
	check.OK(t, last.Save(m.Path("state")))
	m.Start()
	m.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", harness.ReleaseOf(t, "v2"))
}
