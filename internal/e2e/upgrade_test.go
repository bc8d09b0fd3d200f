package e2e

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
	"bareclaw/internal/proc"
)

// TestUpgrade upgrades the gateway in the middle of a turn, and goes back again.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	g := m.start()
	claude := g.say("http", "pid").str("text")
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	m.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"), "--channel", "http")
	g.serves("v2")
	m.holds("v2", "v1", "")
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	if now := g.say("http", "pid").str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
	if n := m.begun("wait"); n != 1 {
		t.Errorf("%d turns begun, want 1", n)
	}
	if u := g.must("GET", "/upgrade", nil, 200); u.str("state") != "confirmed" || u.str("from") != "v1" || u.str("to") != "v2" || u.str("channel") != "http" {
		t.Errorf("the last upgrade is %s", u.body)
	}
	m.upgrades(exitOK, "Upgraded from v2 to v1", "--rollback") // at once: nothing is under way any more
	if !strings.Contains(m.log.String(), "The gateway was upgraded from v1 to v2.") {
		t.Error("the next upgrade has hidden what became of the one before")
	}
	g.serves("v1")
	m.holds("v1", "v2", "")
	g.say("http", "echo still here").want(t, "still here")
	g.balanced()
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
		"dies on trial": {"ended while it was on trial", syscall.SIGKILL}, "hangs on trial": {"does not answer", syscall.SIGSTOP},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, mannerVariable+"="+how)
			m.install("v1", "")
			g := m.start()
			claude := g.say("idle", "pid").str("text")
			id := g.tell("http", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			name := "v2"
			if c.sig != 0 {
				g.fails(name, c.sig, c.says)
			} else {
				name = "broken"
				m.upgrades(exitFailure, c.says, "--from", releaseOf(t, name))
			}
			g.serves("v1")
			m.holds("v1", "", name)
			if rec := m.trial(); rec.State != program.WentBack || !strings.Contains(rec.Reason, c.says) {
				t.Errorf("the record is %+v", rec)
			}
			if pid := g.lockFile().PID; pid != g.cmd.Process.Pid {
				t.Errorf("the daemon is %d, and was started as %d", pid, g.cmd.Process.Pid)
			}
			m.touch("go")
			g.outcome(id).want(t, "waited for "+m.path("go"))
			if now := g.say("idle", "pid").str("text"); now != claude {
				t.Errorf("claude was %s and is %s", claude, now)
			}
			if n := m.begun("wait"); n != 1 {
				t.Errorf("%d turns begun, want 1", n)
			}
			m.eventually("the log tells it", func() bool {
				return strings.Contains(m.log.String(), "The gateway went back from "+name+" to v1")
			})
			g.balanced()
			g.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2")}, 200) // it can be tried again
			g.serves("v2")
		})
	}
}

// TestUpgradeFailsWithoutTheOldFile: somebody has removed the old program while the new one
// was on trial; the process that ran it brings it back.
func TestUpgradeFailsWithoutTheOldFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux shows a process the file that it runs")
	}
	m := newMachine(t)
	m.install("v1", "")
	g := m.start()
	claude := g.say("idle", "pid").str("text")
	wait := m.commanded("upgrade", "--from", releaseOf(t, "v2"))
	now := g.onTrial(g.cmd.Process.Pid)
	if err := os.Remove(m.program + ".old"); err != nil {
		t.Error(err)
	}
	if err := proc.Signal(now.PID, now.Start, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if r := wait(); r.status != exitFailure || !strings.Contains(r.out+r.err, "went back from v2 to v1") {
		t.Errorf("upgrade ends with %d\n%s%s", r.status, r.out, r.err)
	}
	g.serves("v1")
	m.holds("v1", "", "v2")
	if now := g.say("idle", "pid").str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
}

// TestUpgradeFailsBelowAKeeper is the same where the first process is a keeper already:
// that must not take the gateway for ended while nobody serves.
func TestUpgradeFailsBelowAKeeper(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "8s") // longer than the new program may live before it is killed
	g := m.start()
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	old := g.lockFile()
	g.fails("v2", syscall.SIGKILL, "ended while it was on trial")
	g.serves("v1")
	if now := g.lockFile(); now.PID != old.PID {
		t.Errorf("the daemon was %d and is %d", old.PID, now.PID)
	}
	g.say("http", "echo still here").want(t, "still here")
	m.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"))
	g.serves("v2")
	m.eventually("the guard ends", func() bool { return !proc.Alive(old.PID, old.Start) })
	if closed(g.done) {
		t.Error("the first process has ended")
	}
	h := g.lockFile()
	if err := proc.Signal(h.PID, h.Start, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	g.waitEnd()
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("the first process ends with %d", code)
	}
}

// begunTrial begins an upgrade whose trial takes long, and returns when the new program
// serves.
func begunTrial(t *testing.T, m *machine, g *gateway, name string) {
	t.Helper()
	m.t = t
	if a := g.must("POST", "/upgrade", obj{"path": releaseOf(t, name)}, 200); a.str("status") != "restarting" {
		t.Errorf("upgrade says %s", a.body)
	}
	g.serves(name)
}

// TestTrialIsCutShort kills processes while an upgrade is on trial: the next start goes
// on with it, and nothing is lost. The third such start goes back.
func TestTrialIsCutShort(t *testing.T) {
	t.Parallel()
	for name, newToo := range map[string]bool{"guard": false, "new": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.install("v1", "1s")
			short := m.env
			m.env = slices.Concat(short, []string{trialVariable + "=1h"})
			g := m.start()
			id := g.tell("http", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			begunTrial(t, m, g, "v2")
			for i := range 2 {
				if rec := m.trial(); rec.State != program.OnTrial {
					t.Errorf("the record is %+v", rec)
				}
				daemon := m.lockFile()
				if newToo {
					_ = proc.Signal(daemon.PID, daemon.Start, syscall.SIGSTOP) // else it would be told to end, by the end of the guard
				}
				_ = g.cmd.Process.Kill()
				if newToo {
					_ = proc.Signal(daemon.PID, daemon.Start, syscall.SIGKILL)
				}
				g.waitEnd()
				m.eventually("the daemon ends too", func() bool { return !proc.Alive(daemon.PID, daemon.Start) })
				if !newToo && i == 1 { // what was told to end need not be at fault
					m.env = short
				}
				g = m.start()
			}
			if !newToo {
				g.serves("v2")
				m.eventually("it is confirmed", func() bool { return m.trial().State == program.Confirmed })
				m.holds("v2", "v1", "")
			} else {
				g.serves("v1")
				m.holds("v1", "", "v2")
				if rec := m.trial(); rec.State != program.WentBack || !strings.Contains(rec.Reason, "started 3 times") {
					t.Errorf("the record is %+v", rec)
				}
			}
			m.touch("go")
			g.outcome(id).want(t, "waited for "+m.path("go"))
			g.balanced()
		})
	}
}

// TestTrialIsEnded tells the gateway to end, or to restart, while an upgrade is on trial.
func TestTrialIsEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	short := m.env
	m.env = slices.Concat(short, []string{trialVariable + "=1h"})
	g := m.start()
	begunTrial(t, m, g, "v2")
	if a := g.must("POST", "/restart", nil, 503); !strings.Contains(a.str("error"), "on trial") {
		t.Errorf("restart says %s", a.body)
	}
	if a := g.must("POST", "/upgrade", obj{"path": releaseOf(t, "v1")}, 409); a.str("code") != "upgrade_running" {
		t.Errorf("another upgrade: %s", a.body)
	}
	g.signal(syscall.SIGTERM)
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("it ends with %d", code)
	}
	m.env = short
	g = m.start()
	g.serves("v2")
	m.eventually("it is confirmed", func() bool { return m.trial().State == program.Confirmed })
	if rec := m.trial(); rec.Starts != 1 {
		t.Errorf("it counts %d starts", rec.Starts)
	}
}

// TestUpgradeRefuses tries what is no program to upgrade to.
func TestUpgradeRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	put := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := m.path(name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open := m.path("open")
	copyProgram(t, releaseOf(t, "v2"), open)
	if err := os.Chmod(open, 0o775); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(m.path("pipe"), 0o700); err != nil {
		t.Fatal(err)
	}
	says := func(json string) string { return "#!/bin/sh\necho '" + json + "'\n" }
	older := put("older", says(fmt.Sprintf(`{"version":"v0","os":%q,"arch":%q,"schema":1}`, runtime.GOOS, runtime.GOARCH)), 0o700)
	cases := map[string]string{
		m.path("none"):                            "no such file",
		put("plain", "#!/bin/sh\n", 0o600):        "not executable: chmod u+x",
		put("passwd", "root:x:0:0:\n", 0o644):     "is no program",
		open:                                      "chmod go-w",
		m.path("pipe"):                            "not a regular file",
		put("elf", "\x7fELF rubbish", 0o700):      "no program for this machine",
		put("mute", "#!/bin/sh\nexit 3\n", 0o700): "does not answer",
		put("other", says("hello"), 0o700):        "something else than a bareclaw",
		put("foreign", says(`{"version":"v9","os":"plan9","arch":"mips","schema":9}`), 0o700): "is for plan9/mips",
		older:          "what was changed since cannot be undone",
		m.path("work"): "is neither a program",
	}
	g := m.start()
	for path, want := range cases {
		m.upgrades(exitFailure, want, "--from", path)
		if path == m.path("work") {
			continue // a directory is for the command alone
		}
		if a := g.must("POST", "/upgrade", obj{"path": path}, 503); a.str("code") != "upgrade_failed" || !strings.Contains(a.str("error"), want) {
			t.Errorf("%s: the gateway says %s", path, a.body)
		} else if strings.Contains(want, "is no program") && strings.Contains(a.str("error"), "chmod") {
			t.Errorf("%s: the gateway would have it made a program: %s", path, a.body)
		}
	}
	m.upgrades(exitFailure, "runs already", "--from", m.program)
	m.upgrades(exitFailure, "no program to go back to", "--rollback")
	for _, args := range [][]string{nil, {"--from", "x", "--rollback"}} {
		m.upgrades(exitUsage, "either --from", args...)
	}
	m.holds("v1", "", "")
	g.signal(syscall.SIGTERM)
	m.upgrades(exitFailure, "what was changed since cannot be undone", "--from", older)
	m.holds("v1", "", "")
	m.upgrades(exitOK, "No gateway runs", "--from", releaseOf(t, "v2"))
	m.holds("v2", "v1", "")
	m.upgrades(exitFailure, "already", "--from", releaseOf(t, "v2"))
	m.upgrades(exitOK, "No gateway runs", "--rollback")
	m.holds("v1", "v2", "")
}

// TestUpgradeOutOfReach: a gateway that runs and is not found, as from another login, is not
// taken for none: nothing would be tried, and nobody would go back.
func TestUpgradeOutOfReach(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	m.start()
	elsewhere := m.with("BARECLAW_RUNTIME_DIR=" + m.path("elsewhere"))
	elsewhere.upgrades(exitFailure, "cannot be reached", "--from", releaseOf(t, "v2"))
	m.holds("v1", "", "")
}

// TestUpgradeAfterAClockWasSetBack: the last upgrade began later than this one, by the clock.
func TestUpgradeAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "1s")
	last := program.Trial{State: program.Confirmed, Notified: true, BeganAt: time.Now().AddDate(9, 0, 0)}
	if err := last.Save(m.path("state")); err != nil {
		t.Fatal(err)
	}
	m.start()
	m.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"))
}
