package service

import (
	"slices"
	"strconv"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestUpgradeAsSystemdUnit upgrades the gateway as a unit of a real `systemd --user`:
// whatever becomes of the new program, the unit stays up.
func TestUpgradeAsSystemdUnit(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		for manner, test := range map[string]func(*testing.T, *harness.UserManager, string){
			"": unitUpgrades, "dies": unitGoesBack, "dies on trial": unitGoesBack, "hangs on trial": unitGoesBack, "stopped": unitStopsOnTrial,
			"supervisor is killed": unitKilledOnTrial, "new is killed": unitKilledOnTrial, "both are killed": unitKilledOnTrial,
		} {
			t.Run("new program "+manner, func(t *testing.T) {
				t.Parallel()
				test(t, manager, manner)
			})
		}
	})
}

// upgradeUnit runs release v1 as a unit with a turn at work.
func upgradeUnit(t *testing.T, manager *harness.UserManager, manner, trial string) (u *unit, message string) {
	t.Helper()
	m := harness.NewMachine(t, harness.MannerVariable+"="+manner)
	m.Install("v1", trial)
	u = startUnit(m, manager, slices.Clone(notify)...)
	message = u.Tell("http", "wait "+m.Path("go"))
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	return u, message
}

// answers lets the turn end and fails unless its message is answered.
func (u *unit) answers(message string) {
	u.T.Helper()
	u.Touch("go")
	u.Outcome(message).Want(u.T, "waited for "+u.Path("go"))
	if n := u.Begun("wait"); n != 1 {
		u.T.Errorf("%d turns begun, want 1", n)
	}
	u.Balanced()
}

func unitUpgrades(t *testing.T, manager *harness.UserManager, _ string) {
	u, message := upgradeUnit(t, manager, "", "1s")
	old := u.LockFile()
	u.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", harness.ReleaseOf(t, "v2"))
	u.Serves("v2")
	u.isWell()
	u.answers(message)
	u.Eventually("the old worker ends", func() bool { return !proc.Alive(old.Worker, old.WorkerStart) })
	u.isWell()
	u.handOver(u.restart)
}

func unitGoesBack(t *testing.T, manager *harness.UserManager, manner string) {
	u, message := upgradeUnit(t, manager, manner, "")
	old := u.LockFile().PID
	switch manner {
	case "dies":
		u.Upgrades(harness.ExitFailure, "exit status 7", "--from", harness.ReleaseOf(t, "broken"))
	case "dies on trial":
		u.Fails("v2", syscall.SIGKILL, "ended while it was on trial")
	case "hangs on trial":
		u.Fails("v2", syscall.SIGSTOP, "does not answer")
	}
	u.Serves("v1")
	if now := u.LockFile().PID; now != old {
		t.Errorf("the main process was %d and is %d", old, now)
	}
	u.isWell()
	u.answers(message)
	u.handOver(u.restart)
}

// unitStopsOnTrial stops the unit while the new program is on trial: the next start goes on
// with the new program.
func unitStopsOnTrial(t *testing.T, manager *harness.UserManager, _ string) {
	u, message := upgradeUnit(t, manager, "", "8s")
	u.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2")}, 200)
	u.Serves("v2")
	if h := u.LockFile(); u.show("MainPID") == "0" || !proc.Alive(h.PID, h.Start) {
		t.Error("the gateway does not run")
	}
	now := u.LockFile()
	u.systemctl("stop", u.name)
	u.Eventually("the new worker ends", func() bool { return !proc.Alive(now.Worker, now.WorkerStart) })
	u.start()
	u.Serves("v2")
	u.answers(message)
	u.Eventually("it is confirmed", func() bool { return u.Trial().State == program.Confirmed })
	u.isWell()
}

// unitKilledOnTrial kills processes while the new program is on trial. There is one gateway
// again, and the same claude.
func unitKilledOnTrial(t *testing.T, manager *harness.UserManager, who string) {
	u, message := upgradeUnit(t, manager, "", "8s")
	claude := u.Say("idle", "pid").Str("text")
	u.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2")}, 200)
	u.Serves("v2")
	now := u.LockFile()
	var err error
	switch who {
	case "supervisor is killed":
		err = proc.Signal(now.PID, now.Start, syscall.SIGKILL)
	case "new is killed":
		err = proc.Signal(now.Worker, now.WorkerStart, syscall.SIGKILL)
	default:
		u.KillHolder()
	}
	if err != nil {
		t.Error(err)
	}
	u.Eventually("the worker ends", func() bool { return !proc.Alive(now.Worker, now.WorkerStart) })
	u.Eventually("it is decided", func() bool { return u.Trial().State != program.OnTrial })
	u.found()
	u.Eventually("the main process is the gateway", func() bool { return u.show("MainPID") == strconv.Itoa(u.LockFile().PID) })
	want := map[bool]string{true: "v1", false: "v2"}[who == "new is killed"]
	u.Serves(want)
	if state := u.show("ActiveState"); state != "active" {
		t.Errorf("the unit is %s", state)
	}
	u.answers(message)
	if pid := u.Say("idle", "pid").Str("text"); pid != claude {
		t.Errorf("claude was %s and is %s", claude, pid)
	}
}
