package e2e

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

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// TestAsSystemdUnit runs the gateway as a unit of a real `systemd --user`.
func TestAsSystemdUnit(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		for name, test := range map[string]func(*testing.T, *userManager){
			"hands over": unitHandsOver, "reloads": unitReloads, "stops": unitStops, "is killed": unitIsKilled,
			"refuses": unitRefuses, "without notification": unitWithoutNotification, "notified by main": unitNotifiedByMain,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, manager)
			})
		}
	})
}

// A unit is a gateway that systemd runs.
type unit struct {
	*gateway
	manager *userManager
	name    string
}

// unit makes a unit of the machine's gateway and starts it. Settings are lines of
// its [Service] section.
func (m *machine) unit(manager *userManager, settings ...string) *unit {
	m.t.Helper()
	u := m.newUnit(manager, settings...)
	u.systemctl("daemon-reload")
	u.start()
	return u
}

// newUnit writes one, and no more.
func (m *machine) newUnit(manager *userManager, settings ...string) *unit {
	m.t.Helper()
	self := m.executable()
	log := m.path("log")
	lines := append([]string{
		"[Unit]", "StartLimitIntervalSec=0", "[Service]", "Restart=on-failure", "RestartSec=50ms", "KillMode=process",
		"ExecStart=" + self + " serve", `ExecReload=/bin/sh -c "kill -HUP $MAINPID"`,
		"WorkingDirectory=" + m.path("work"), "StandardOutput=append:" + log, "StandardError=append:" + log,
	}, settings...)
	for _, v := range m.env {
		lines = append(lines, "Environment="+strconv.Quote(v))
	}
	u := &unit{gateway: &gateway{machine: m, sock: m.path("run/api.sock"), http: newClient(m.t)}, manager: manager, name: filepath.Base(m.dir) + ".service"}
	if err := os.WriteFile(filepath.Join(runtimeDir, "systemd/user", u.name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_, _ = manager.systemctl("stop", u.name)
		b, _ := os.ReadFile(log)
		_, _ = m.log.Write(b)
	})
	return u
}

// systemctl runs a command and returns what it says.
func (u *unit) systemctl(args ...string) string {
	u.t.Helper()
	out, err := u.manager.systemctl(args...)
	if err != nil {
		u.t.Fatalf("systemctl %v: %v: %s", args, err, out)
	}
	return out
}

// start starts the unit, which is active when this returns.
func (u *unit) start() {
	u.t.Helper()
	u.systemctl("start", u.name)
	u.found()
}

// found waits until there is a main process that serves, and turns to it.
func (u *unit) found() {
	u.t.Helper()
	u.eventually("the gateway serves", func() bool {
		h, err := lockfile.ReadHolder(u.path("state/" + lockfile.StateLockName))
		if err != nil || h.Address == "" || !proc.Alive(h.PID, h.Start) {
			return false
		}
		u.base = "http://" + h.Address
		a, err := u.do("GET", "/health", nil)
		return err == nil && a.flag("ready")
	})
}

// show returns a property of the unit.
func (u *unit) show(property string) string {
	u.t.Helper()
	return u.systemctl("show", "--value", "--property="+property, u.name)
}

// isWell fails unless systemd sees the unit at work, started once, with the daemon
// as its main process.
func (u *unit) isWell() {
	u.t.Helper()
	pid := strconv.Itoa(u.lockFile().PID)
	u.eventually("systemd knows the main process", func() bool { return u.show("MainPID") == pid && u.show("SubState") == "running" })
	for property, want := range map[string]string{"ActiveState": "active", "NRestarts": "0", "Result": "success"} {
		if got := u.show(property); got != want {
			u.t.Errorf("%s is %s, want %s", property, got, want)
		}
	}
}

// handOver hands over to a new process in some way, and returns when systemd knows
// of it.
func (u *unit) handOver(ask func()) {
	u.t.Helper()
	generation := u.generation()
	ask()
	u.restarted(generation)
	u.isWell()
}

func (u *unit) restart() { u.must("POST", "/restart", nil, 200) }
func (u *unit) reload()  { u.systemctl("reload", u.name) }

// killMain kills the main process.
func (u *unit) killMain() {
	u.t.Helper()
	h := u.lockFile()
	if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
		u.t.Fatal(err)
	}
}

var notify = []string{"Type=notify", "NotifyAccess=all"}

// unitHandsOver restarts the gateway in the middle of a turn: the unit stays up,
// its main process is the new one, and the turn is answered.
func unitHandsOver(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, append(slices.Clone(notify), "WatchdogSec=1h")...)
	u.isWell()
	claude := u.say("idle", "pid").str("text")
	held := u.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	mains := []int{u.lockFile().PID}
	for i, ask := range []func(){u.restart, u.reload, u.restart} {
		u.handOver(ask)
		pid := u.lockFile().PID
		if slices.Contains(mains, pid) {
			t.Errorf("the main process is %d; before they were %v", pid, mains)
		}
		// A process has what its predecessor made of the variable.
		if want := fmt.Sprintf("\x00WATCHDOG_PID=%d\x00", mains[i]); !strings.Contains(environ(t, pid), want) {
			t.Errorf("%q is not in the environment of the main process after %d hand-overs", want, i+1)
		}
		mains = append(mains, pid)
	}
	if now := u.say("idle", "pid").str("text"); now != claude {
		t.Errorf("claude was %s and is %s", claude, now)
	}
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	if n := m.begun("wait"); n != 1 {
		t.Errorf("%d turns begun, want 1", n)
	}
	u.balanced()
	u.isWell()
}

// environ returns the environment that a process was started with, each variable
// between zero bytes.
func environ(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	return "\x00" + string(b)
}

// unitReloads has `systemctl reload` wait for the hand-over, where systemd can do
// that.
func unitReloads(t *testing.T, manager *userManager) {
	if manager.version < 253 {
		t.Skipf("NOT TESTED: Type=notify-reload: systemd %d does not have it", manager.version)
	}
	m := newMachine(t)
	u := m.unit(manager, "Type=notify-reload", "NotifyAccess=all")
	before := u.lockFile().PID
	u.reload()
	u.found()
	if now := u.lockFile().PID; now == before {
		t.Error("it is the same process when systemctl reload returns")
	}
	u.isWell()
}

// busyLeave is what a busy machine makes of leavePromise; systemd would wait for much longer.
const busyLeave = 10 * leavePromise

// unitStops stops the unit, also after a hand-over: requests are answered, hosts
// stay, and the next start takes them up.
func unitStops(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, notify...)
	claude := u.say("idle", "pid").str("text")
	for i, handOvers := range []int{0, 1, 2} {
		held := u.hold(obj{"text": "wait " + m.path("go"+strconv.Itoa(i))})
		m.eventually("turn runs", func() bool { return m.begun("go"+strconv.Itoa(i)) == 1 })
		for range handOvers {
			u.handOver(u.restart)
		}
		daemon, hosts := u.lockFile(), m.hosts()
		began := time.Now()
		u.systemctl("stop", u.name)
		if took := time.Since(began); took > busyLeave {
			t.Errorf("after %d hand-overs it took %s to stop, want %s at most", handOvers, took, busyLeave)
		}
		if proc.Alive(daemon.PID, daemon.Start) {
			t.Errorf("after %d hand-overs the daemon outlives the unit", handOvers)
		}
		if state, result := u.show("ActiveState"), u.show("Result"); state != "inactive" || result != "success" {
			t.Errorf("after %d hand-overs the unit is %s (%s)", handOvers, state, result)
		}
		a := held.answer(202)
		if now := m.hosts(); len(hosts) != 2 || fmt.Sprint(now) != fmt.Sprint(hosts) {
			t.Errorf("after %d hand-overs the hosts were %v and are %v", handOvers, hosts, now)
		}
		m.touch("go" + strconv.Itoa(i))
		u.start()
		u.outcome(a.str("message_id")).want(t, "waited for "+m.path("go"+strconv.Itoa(i)))
		if now := u.say("idle", "pid").str("text"); now != claude {
			t.Errorf("claude was %s and is %s", claude, now)
		}
	}
	u.balanced()
}

// unitIsKilled kills the main process: systemd starts another one, also where it
// did not start the one that was killed, and its predecessor is or is not there
// any more.
func unitIsKilled(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, notify...)
	claude := u.say("idle", "pid").str("text")
	for i, before := range []func(){
		func() {},
		func() { u.handOver(u.restart) }, // the old process is still there, for what clients may send it
		func() {
			old := u.lockFile()
			u.handOver(u.restart)
			m.eventually("the old process ends", func() bool { return !proc.Alive(old.PID, old.Start) })
		},
	} {
		id := u.tell("http", "wait "+m.path("go"+strconv.Itoa(i)))
		m.eventually("turn runs", func() bool { return m.begun("go"+strconv.Itoa(i)) == 1 })
		u.systemctl("reset-failed", u.name) // NRestarts is 0 again
		before()
		u.killMain()
		u.found()
		u.eventually("systemd has started it anew", func() bool {
			return u.show("MainPID") == strconv.Itoa(u.lockFile().PID) && u.show("SubState") == "running"
		})
		m.touch("go" + strconv.Itoa(i))
		u.outcome(id).want(t, "waited for "+m.path("go"+strconv.Itoa(i)))
		if now := u.say("idle", "pid").str("text"); now != claude {
			t.Errorf("claude was %s and is %s", claude, now)
		}
	}
	u.balanced()
}

// unitRefuses reloads with a configuration that is wrong: nothing changes.
func unitRefuses(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, notify...)
	before := u.lockFile()
	if err := os.WriteFile(m.path("work/.env"), []byte("BARECLAW_MAX_TURNS=many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.reload()
	m.eventually("health says why", func() bool {
		return strings.Contains(string(u.must("GET", "/health", nil, 200).body), "BARECLAW_MAX_TURNS")
	})
	u.isWell()
	if now := u.lockFile(); now.PID != before.PID {
		t.Errorf("the main process was %d and is %d", before.PID, now.PID)
	}
	u.say("http", "echo still here").want(t, "still here")
}

// unitWithoutNotification runs the gateway where it cannot tell systemd of its
// successor: its first process stays.
func unitWithoutNotification(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, "Type=exec")
	first := u.show("MainPID")
	for range 2 {
		generation := u.generation()
		u.restart()
		u.restarted(generation)
	}
	u.say("http", "echo hello").want(t, "hello")
	if now, state := u.show("MainPID"), u.show("SubState"); now != first || state != "running" {
		t.Errorf("the main process was %s and is %s; the unit is %s", first, now, state)
	}
	u.killMain()
	u.eventually("systemd starts it anew", func() bool { pid := u.show("MainPID"); return pid != first && pid != "0" })
	u.found()
	u.say("http", "echo hello again").want(t, "hello again")
	generation := u.generation()
	u.restart()
	u.restarted(generation)
	daemon := u.lockFile()
	u.systemctl("stop", u.name)
	if proc.Alive(daemon.PID, daemon.Start) {
		t.Error("the daemon outlives the unit")
	}
	if state, result := u.show("ActiveState"), u.show("Result"); state != "inactive" || result != "success" {
		t.Errorf("the unit is %s (%s)", state, result)
	}
	u.start()
	u.balanced()
}

// unitNotifiedByMain has systemd listen to the main process alone, as it does by
// default.
func unitNotifiedByMain(t *testing.T, manager *userManager) {
	m := newMachine(t)
	u := m.unit(manager, "Type=notify", "NotifyAccess=main")
	for range 2 {
		u.handOver(u.restart)
	}
	u.say("http", "echo hello").want(t, "hello")
	u.balanced()
}
