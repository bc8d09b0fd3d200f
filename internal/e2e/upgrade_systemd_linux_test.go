package e2e

import (
	"slices"
	"strconv"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/proc"
)

// TestUpgradeAsSystemdUnit upgrades the gateway as a unit of a real `systemd --user`:
// whatever becomes of the new program, the unit stays up.
func TestUpgradeAsSystemdUnit(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		for manner, test := range map[string]func(*testing.T, *userManager, string){
			"": unitUpgrades, "dies": unitGoesBack, "dies on trial": unitGoesBack, "hangs on trial": unitGoesBack, "stopped": unitStopsOnTrial,
			"guard is killed": unitKilledOnTrial, "new is killed": unitKilledOnTrial, "both are killed": unitKilledOnTrial,
		} {
			t.Run("new program "+manner, func(t *testing.T) {
				t.Parallel()
				test(t, manager, manner)
			})
		}
	})
}

// upgradeUnit runs release v1 as a unit with a turn at work.
func upgradeUnit(t *testing.T, manager *userManager, manner, trial string) (u *unit, message string) {
	t.Helper()
	m := newMachine(t, mannerVariable+"="+manner)
	m.install("v1", trial)
	u = m.unit(manager, slices.Clone(notify)...)
	message = u.tell("http", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	return u, message
}

// answers lets the turn end and fails unless its message is answered.
func (u *unit) answers(message string) {
	u.t.Helper()
	u.touch("go")
	u.outcome(message).want(u.t, "waited for "+u.path("go"))
	if n := u.begun("wait"); n != 1 {
		u.t.Errorf("%d turns begun, want 1", n)
	}
	u.balanced()
}

func unitUpgrades(t *testing.T, manager *userManager, _ string) {
	u, message := upgradeUnit(t, manager, "", "1s")
	old := u.lockFile()
	u.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"))
	u.serves("v2")
	u.isWell()
	u.answers(message)
	u.eventually("the old process ends", func() bool { return !proc.Alive(old.PID, old.Start) })
	u.isWell()
	u.handOver(u.restart)
}

func unitGoesBack(t *testing.T, manager *userManager, manner string) {
	u, message := upgradeUnit(t, manager, manner, "")
	old := u.lockFile().PID
	switch manner {
	case "dies":
		u.upgrades(exitFailure, "before it was ready", "--from", releaseOf(t, "broken"))
	case "dies on trial":
		u.fails("v2", syscall.SIGKILL, "ended while it was on trial")
	case "hangs on trial":
		u.fails("v2", syscall.SIGSTOP, "does not answer")
	}
	u.serves("v1")
	if now := u.lockFile().PID; now != old {
		t.Errorf("the main process was %d and is %d", old, now)
	}
	u.isWell()
	u.answers(message)
	u.handOver(u.restart)
}

// unitStopsOnTrial stops the unit while the old process is the main one yet: both end,
// and the next start goes on with the new program.
func unitStopsOnTrial(t *testing.T, manager *userManager, _ string) {
	u, message := upgradeUnit(t, manager, "", "8s")
	u.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2")}, 200)
	u.serves("v2")
	if h := u.lockFile(); u.show("MainPID") == "0" || !proc.Alive(h.PID, h.Start) {
		t.Error("the gateway does not run")
	}
	now := u.lockFile()
	u.systemctl("stop", u.name)
	u.eventually("the new process ends", func() bool { return !proc.Alive(now.PID, now.Start) })
	u.start()
	u.serves("v2")
	u.answers(message)
	u.eventually("it is confirmed", func() bool { return u.trial().State == program.Confirmed })
	u.isWell()
}

// unitKilledOnTrial kills processes while the old one is the main one yet. There is one
// gateway again, which is the unit's main process, and the same claude.
func unitKilledOnTrial(t *testing.T, manager *userManager, who string) {
	u, message := upgradeUnit(t, manager, "", "8s")
	claude := u.say("idle", "pid").str("text")
	u.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2")}, 200)
	u.serves("v2")
	guard, now := u.trial().Guard, u.lockFile()
	kill := func(pid int, start uint64) {
		if err := proc.Signal(pid, start, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if who == "both are killed" { // the one is not to end for the other's sake
		if err := proc.Signal(now.PID, now.Start, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if who != "new is killed" {
		kill(guard.PID, guard.Start)
	}
	if who != "guard is killed" {
		kill(now.PID, now.Start)
	}
	u.eventually("both have ended, or gone on", func() bool { return !proc.Alive(now.PID, now.Start) })
	u.eventually("it is decided", func() bool { return u.trial().State != program.OnTrial })
	u.found()
	u.eventually("the main process is the gateway", func() bool { return u.show("MainPID") == strconv.Itoa(u.lockFile().PID) })
	want := map[bool]string{true: "v1", false: "v2"}[who == "new is killed"]
	u.serves(want)
	if state := u.show("ActiveState"); state != "active" {
		t.Errorf("the unit is %s", state)
	}
	u.answers(message)
	if pid := u.say("idle", "pid").str("text"); pid != claude {
		t.Errorf("claude was %s and is %s", claude, pid)
	}
}
