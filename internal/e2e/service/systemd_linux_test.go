package service

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestAsSystemdUnit runs the gateway as a unit of a real `systemd --user`.
func TestAsSystemdUnit(t *testing.T) {
	t.Parallel()
	underSystemd(t, map[string]func(*testing.T, *harness.UserManager){
		"hands over": unitHandsOver, "reloads": unitReloads, "stops": unitStops,
		"without notification": unitWithoutNotification, "notified by all": unitNotifiedByAll,
	})
}

// underSystemd runs tests that share one systemd.
func underSystemd(t *testing.T, tests map[string]func(*testing.T, *harness.UserManager)) {
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, manager)
			})
		}
	})
}

// A unit is a gateway that systemd runs.
type unit struct {
	*harness.Gateway
	manager *harness.UserManager
	name    string
}

// startUnit makes a unit of the machine's gateway and starts it. Settings are lines of
// its [Service] section.
func startUnit(m *harness.Machine, manager *harness.UserManager, settings ...string) *unit {
	m.T.Helper()
	u := newUnit(m, manager, settings...)
	u.systemctl("daemon-reload")
	u.start()
	return u
}

// newUnit writes one, and no more.
func newUnit(m *harness.Machine, manager *harness.UserManager, settings ...string) *unit {
	m.T.Helper()
	self := m.Executable()
	log := m.Path("log")
	lines := append([]string{
		"[Unit]", "StartLimitIntervalSec=0", "[Service]", "Restart=on-failure", "RestartSec=50ms", "KillMode=process",
		"ExecStart=" + self + " serve", `ExecReload=/bin/sh -c "kill -HUP $MAINPID"`,
		"WorkingDirectory=" + m.Path("work"), "StandardOutput=append:" + log, "StandardError=append:" + log,
	}, settings...)
	for _, v := range m.Env {
		lines = append(lines, "Environment="+strconv.Quote(v))
	}
	u := &unit{Gateway: &harness.Gateway{Machine: m, Sock: m.Path("run/api.sock"), HTTP: harness.NewClient(m.T)}, manager: manager, name: filepath.Base(m.Dir) + ".service"}
	check.OK(m.T, os.WriteFile(filepath.Join(harness.RuntimeDir, "systemd/user", u.name), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	m.T.Cleanup(func() {
		_, _ = manager.Systemctl("stop", u.name)
		b, _ := os.ReadFile(log)
		_, _ = m.Log.Write(b)
	})
	return u
}

// systemctl runs a command and returns what it says.
func (u *unit) systemctl(args ...string) string {
	u.T.Helper()
	out, err := u.manager.Systemctl(args...)
	if err != nil {
		u.T.Fatalf("systemctl %v: %v: %s", args, err, out)
	}
	return out
}

// start starts the unit, which is active when this returns.
func (u *unit) start() {
	u.T.Helper()
	u.systemctl("start", u.name)
	u.found()
}

// found waits until there is a main process that serves, and turns to it.
func (u *unit) found() { found(u.Gateway) }

// found waits until a machine has a gateway that serves, and turns to it.
func found(g *harness.Gateway) {
	g.T.Helper()
	g.Eventually("the gateway serves", func() bool {
		h, err := lockfile.ReadHolder(g.Path("state/" + lockfile.StateLockName))
		if err != nil || h.Address == "" || !proc.Alive(h.PID, h.Start) {
			return false
		}
		g.Base = "http://" + h.Address
		a, err := g.Do("GET", "/health", nil)
		return err == nil && a.Flag("ready")
	})
}

// show returns a property of the unit.
func (u *unit) show(property string) string {
	u.T.Helper()
	return u.showOf(u.name, property)
}

// showOf returns a property of another unit.
func (u *unit) showOf(name, property string) string {
	u.T.Helper()
	return u.systemctl("show", "--value", "--property="+property, name)
}

// isWell fails unless systemd sees the unit at work, started once, with the supervisor
// as its main process.
func (u *unit) isWell() {
	u.T.Helper()
	pid := strconv.Itoa(u.LockFile().PID)
	u.Eventually("systemd knows the main process", func() bool { return u.show("MainPID") == pid && u.show("SubState") == "running" })
	for property, want := range map[string]string{"ActiveState": "active", "NRestarts": "0", "Result": "success"} {
		if got := u.show(property); got != want {
			u.T.Errorf("%s is %s, want %s", property, got, want)
		}
	}
}

// handOver hands over to a new process in some way, and returns when systemd knows
// of it.
func (u *unit) handOver(ask func()) {
	u.T.Helper()
	generation := u.Generation()
	ask()
	u.Restarted(generation)
	u.isWell()
}

func (u *unit) restart() { u.Must("POST", "/restart", nil, 200) }

func (u *unit) reload() { u.systemctl("reload", u.name) }

// killMain kills the main process.
func (u *unit) killMain() {
	u.T.Helper()
	h := u.LockFile()
	check.OK(u.T, proc.Signal(h.PID, h.Start, syscall.SIGKILL))
	u.Eventually("supervisor and worker have ended", func() bool { // an ending worker refuses messages
		return !proc.Alive(h.PID, h.Start) && !proc.Alive(h.Worker, h.WorkerStart)
	})
}

var notify = []string{"Type=notify", "NotifyAccess=main"}

// unitHandsOver restarts the gateway in the middle of a turn: the unit stays up with its
// main process, and the turn is answered.
func unitHandsOver(t *testing.T, manager *harness.UserManager) {
	m := harness.NewMachine(t)
	u := startUnit(m, manager, append(slices.Clone(notify), "WatchdogSec=1h")...)
	u.isWell()
	sameClaude := u.SameClaude("idle")
	held := u.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	main, workers := u.LockFile().PID, []int{u.Worker()}
	for _, ask := range []func(){u.restart, u.reload, u.restart} {
		u.handOver(ask)
		now := u.LockFile()
		if now.PID != main || slices.Contains(workers, now.Worker) {
			t.Errorf("the main process was %d and is %d; the worker is %d after %v", main, now.PID, now.Worker, workers)
		}
		workers = append(workers, now.Worker)
	}
	sameClaude(u.Gateway)
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	if n := m.Begun("wait"); n != 1 {
		t.Errorf("%d turns begun, want 1", n)
	}
	u.Balanced()
	u.isWell()
}

// environ returns the environment that a process was started with, each variable
// between zero bytes.
func environ(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	check.OK(t, err)
	return "\x00" + string(b)
}

// unitReloads has `systemctl reload` wait for the hand-over, where systemd can do
// that.
func unitReloads(t *testing.T, manager *harness.UserManager) {
	if manager.Version < 253 {
		t.Skipf("NOT TESTED: Type=notify-reload: systemd %d does not have it", manager.Version)
	}
	m := harness.NewMachine(t)
	u := startUnit(m, manager, "Type=notify-reload", "NotifyAccess=main")
	before := u.Worker()
	u.reload()
	u.found()
	if now := u.Worker(); now == before {
		t.Error("it is the same process when systemctl reload returns")
	}
	u.isWell()
}

// unitStops stops the unit, also after a hand-over: requests are answered, hosts
// stay, and the next start takes them up.
func unitStops(t *testing.T, manager *harness.UserManager) {
	m := harness.NewMachine(t)
	u := startUnit(m, manager, notify...)
	sameClaude := u.SameClaude("idle")
	for i, handOvers := range []int{0, 1, 2} {
		held := u.Hold(harness.Obj{"text": "wait " + m.Path("go"+strconv.Itoa(i))})
		m.Eventually("turn runs", func() bool { return m.Begun("go"+strconv.Itoa(i)) == 1 })
		for range handOvers {
			u.handOver(u.restart)
		}
		daemon, hosts := u.LockFile(), m.Hosts()
		began, late := time.Now(), harness.Lateness()
		u.systemctl("stop", u.name)
		if took := time.Since(began); took > 2*harness.LeavePromise+late() { // systemd has work of its own, and would wait for much longer
			t.Errorf("after %d hand-overs it took %s to stop (the machine is late by %s)", handOvers, took, late())
		}
		if proc.Alive(daemon.Worker, daemon.WorkerStart) {
			t.Errorf("after %d hand-overs the daemon outlives the unit", handOvers)
		}
		if state, result := u.show("ActiveState"), u.show("Result"); state != "inactive" || result != "success" {
			t.Errorf("after %d hand-overs the unit is %s (%s)", handOvers, state, result)
		}
		a := held.Answer(202)
		if now := m.Hosts(); len(hosts) != 2 || fmt.Sprint(now) != fmt.Sprint(hosts) {
			t.Errorf("after %d hand-overs the hosts were %v and are %v", handOvers, hosts, now)
		}
		m.Touch("go" + strconv.Itoa(i))
		u.start()
		u.Outcome(a.Str("message_id")).Want(t, "waited for "+m.Path("go"+strconv.Itoa(i)))
		sameClaude(u.Gateway)
	}
	u.Balanced()
}

// unitWithoutNotification runs the gateway where systemd is told nothing.
func unitWithoutNotification(t *testing.T, manager *harness.UserManager) {
	m := harness.NewMachine(t)
	u := startUnit(m, manager, "Type=exec")
	first := u.show("MainPID")
	u.Restart()
	u.Restart()
	u.Say("http", "echo hello").Want(t, "hello")
	if now, state := u.show("MainPID"), u.show("SubState"); now != first || state != "running" {
		t.Errorf("the main process was %s and is %s; the unit is %s", first, now, state)
	}
	u.killMain()
	u.Eventually("systemd starts it anew", func() bool { pid := u.show("MainPID"); return pid != first && pid != "0" })
	u.found()
	u.Say("http", "echo hello again").Want(t, "hello again")
	u.Restart()
	daemon := u.LockFile()
	u.systemctl("stop", u.name)
	if proc.Alive(daemon.Worker, daemon.WorkerStart) {
		t.Error("the daemon outlives the unit")
	}
	if state, result := u.show("ActiveState"), u.show("Result"); state != "inactive" || result != "success" {
		t.Errorf("the unit is %s (%s)", state, result)
	}
	u.start()
	u.Balanced()
}

// unitNotifiedByAll has systemd listen to all processes, as installed units of earlier
// versions do.
func unitNotifiedByAll(t *testing.T, manager *harness.UserManager) {
	m := harness.NewMachine(t)
	u := startUnit(m, manager, "Type=notify", "NotifyAccess=all")
	for range 2 {
		u.handOver(u.restart)
	}
	u.Say("http", "echo hello").Want(t, "hello")
	u.Balanced()
}

// TestSystemUnitLetsTheGatewayWork runs the gateway under what the unit for a whole
// system forbids, as far as a systemd for users can forbid it: system calls, address
// families, namespaces, capabilities. What it does to the file system is not tried.
func TestSystemUnitLetsTheGatewayWork(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		b, err := os.ReadFile("contrib/systemd/system/bareclaw.service")
		check.OK(t, err)
		lines := slices.Clone(notify)
		for line := range strings.Lines(string(b)) {
			for _, name := range []string{"NoNewPrivileges", "CapabilityBoundingSet", "Restrict", "LockPersonality", "SystemCall", "UMask"} {
				if strings.HasPrefix(line, name) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
		if len(lines) < 12 {
			t.Fatalf("only %q were found", lines)
		}
		m := harness.NewMachine(t)
		u := startUnit(m, manager, lines...)
		sameClaude := u.SameClaude("idle")
		u.handOver(u.restart)
		u.systemctl("restart", u.name)
		u.found()
		sameClaude(u.Gateway)
		u.Balanced()
	})
}
