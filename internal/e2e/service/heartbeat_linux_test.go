package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/executable"
)

// TestHeartbeatUnderSystemd has a real `systemd --user` call the ticks.
func TestHeartbeatUnderSystemd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*heart){
		"installs itself": heartInstallsItself, "revives": heartRevives, "starts the service": heartStartsService,
		"of another gateway": heartOfAnother, "asks nothing": heartAsksNothing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.WithUserManager(t, func(t *testing.T, manager *harness.UserManager) { test(newHeartAt(t, manager)) })
		})
	}
}

// A heart is a home in which bareclaw is there to stay.
type heart struct {
	*harness.Machine
	manager *harness.UserManager
	program string
}

const (
	heartHome  = "/run/home" // of the user's systemd
	heartUnits = heartHome + "/.config/systemd/user/"
)

// newHeartAt puts the program into the home, with a .env where the machine works.
func newHeartAt(t *testing.T, manager *harness.UserManager) *heart {
	t.Helper()
	m := harness.NewMachine(t)
	h := &heart{Machine: m, manager: manager, program: heartHome + "/bin/bareclaw"}
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") })
	m.Env = append(m.Env, "HOME="+heartHome, "XDG_RUNTIME_DIR="+harness.RuntimeDir, "XDG_STATE_HOME="+m.Path("xdg"))
	self := harness.Bareclaw(t)
	program, err := os.ReadFile(self)
	for _, step := range []func() error{
		func() error { return err },
		func() error { return os.MkdirAll(m.Path("xdg/bareclaw"), 0o700) },
		func() error { return os.Remove(m.Path("state")) },
		func() error { return os.Symlink(m.Path("xdg/bareclaw"), m.Path("state")) }, // where the tests look
		func() error { return os.MkdirAll(filepath.Dir(h.program), 0o755) },
		func() error { return executable.Write(h.program, program) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	h.setting()
	if out, err := manager.Systemctl("set-environment", "GORACE=atexit_sleep_ms=0"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return h
}

// setting makes a .env with these settings besides those that all have.
func (h *heart) setting(settings ...string) {
	h.T.Helper()
	settings = append([]string{"FAKECLAUDE_LOG=" + h.Path("journal"), "BARECLAW_HEARTBEAT_MESSAGE='echo HEARTBEAT_OK'"}, settings...)
	if err := os.WriteFile(h.Path("work/.env"), []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
		h.T.Fatal(err)
	}
}

// serve starts the gateway by hand and waits until it has seen to the heartbeat, of
// which it says this.
func (h *heart) serve(says string) *harness.Gateway {
	h.T.Helper()
	before := len(h.Log.String())
	g := h.Start("sh", "-c", "exec "+h.program+" serve")
	h.Eventually("the gateway says "+says, func() bool { return strings.Contains(h.Log.String()[before:], says) })
	return g
}

// does runs a command of the installed program that must succeed and say this.
func (h *heart) does(says string, args ...string) {
	h.T.Helper()
	cmd := exec.Command(h.program, args...)
	cmd.Env, cmd.Dir = h.Env, h.Path("work")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), says) {
		h.T.Errorf("bareclaw %v: %v, want %q\n%s", args, err, says, out)
	}
}

// unit returns a property of a unit.
func (h *heart) unit(name, property string) string {
	h.T.Helper()
	out, err := h.manager.Systemctl("show", "--value", "--property="+property, name)
	if err != nil {
		h.T.Fatalf("systemctl show %s: %v: %s", name, err, out)
	}
	return out
}

func (h *heart) ticking() bool { return h.unit("bareclaw-heartbeat.timer", "ActiveState") == "active" }

// wantGone fails if there is anything left of an installed heartbeat. What systemd
// notes of timers is its own.
func (h *heart) wantGone() {
	h.T.Helper()
	for _, pattern := range []string{heartUnits + "*heartbeat*", heartUnits + "*/*heartbeat*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			h.T.Errorf("left behind: %v, %v", left, err)
		}
	}
	if h.ticking() {
		h.T.Error("the timer is active still")
	}
}

// timer adds lines to what the timer's unit says.
func (h *heart) timer(lines ...string) {
	h.T.Helper()
	dropIn := harness.RuntimeDir + "/systemd/user/bareclaw-heartbeat.timer.d/"
	err := os.MkdirAll(dropIn, 0o755)
	if err == nil {
		err = os.WriteFile(dropIn+"test.conf", []byte("[Timer]\n"+strings.Join(lines, "\n")+"\n"), 0o600)
	}
	if err != nil {
		h.T.Fatal(err)
	}
}

// consents fails unless that is what the user has said, by the records.
func (h *heart) consents(want heartbeat.Consent) {
	h.T.Helper()
	if got, err := heartbeat.ReadConsent(h.Path("state")); err != nil || got != want {
		h.T.Errorf("the consent is %q, %v; want %q", got, err, want)
	}
}

// heartInstallsItself: a gateway that is there to stay installs the heartbeat if the user
// has agreed to it, brings it up to date, and leaves it alone when the user does not want
// it, or was not asked.
func heartInstallsItself(h *heart) {
	// On a machine that was booted long ago the timer would begin at once, and its ticks
	// would start the gateways that are killed here.
	h.timer("OnBootSec=", "OnActiveSec=1d")
	h.serve("nobody has agreed to it").Kill()
	h.wantGone()
	h.does("nobody has agreed to it", "heartbeat", "status")
	h.does("Claude is asked once every 1h, which is billed", "heartbeat", "install")
	h.consents(heartbeat.ConsentAsk)
	if err := errors.Join(heartbeat.SaveConsent(h.Path("state"), heartbeat.ConsentNone), os.Remove(heartUnits+"bareclaw-heartbeat.service")); err != nil {
		h.T.Fatal(err) // as an older version has left it, and with something to be brought up to date
	}
	g := h.serve("heartbeat installed")
	h.consents(heartbeat.ConsentAsk)
	if !h.ticking() {
		h.T.Error("the timer is not active")
	}
	if out, err := h.manager.Systemctl("start", "bareclaw-heartbeat.service"); err != nil || h.Outcomes() != "ok" {
		h.T.Errorf("a tick that systemd calls: %v %s; outcomes: %s", err, out, h.Outcomes())
	}
	if cmd := exec.Command("systemd-analyze", "--user", "verify", heartUnits+"bareclaw-heartbeat.timer"); true {
		cmd.Env = h.manager.Env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			h.T.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	}
	h.does("installed by systemd, every 1h\n", "heartbeat", "status")
	g.Kill()

	h.setting("BARECLAW_HEARTBEAT_INTERVAL=2h")
	g = h.serve("heartbeat installed")
	if timer, err := os.ReadFile(heartUnits + "bareclaw-heartbeat.timer"); err != nil || !strings.Contains(string(timer), "OnUnitActiveSec=2h\n") {
		h.T.Errorf("the timer, with another interval: %v\n%s", err, timer)
	}
	g.Kill()

	cmd := exec.Command("bash", "-e", "-c", `systemctl --user disable --now bareclaw-heartbeat.timer
rm ~/.config/systemd/user/bareclaw-heartbeat.{service,timer}
systemctl --user daemon-reload
`)
	cmd.Env = h.manager.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		h.T.Errorf("the commands that have always uninstalled it: %v\n%s", err, out)
	}
	h.wantGone()
	h.serve("heartbeat installed").Kill()

	h.does("removed", "heartbeat", "uninstall")
	h.wantGone()
	h.consents(heartbeat.ConsentNo)
	h.serve("it was declined or uninstalled").Kill()
	h.wantGone()
	h.setting("BARECLAW_HEARTBEAT=revive")
	h.serve("it was declined or uninstalled").Kill()
	h.wantGone()
	h.setting()
	h.does("started bareclaw-heartbeat.timer", "heartbeat", "install")
	if !h.ticking() {
		h.T.Error("the timer is not active")
	}
	cmd = exec.Command("bash", "./heartbeat/install.sh")
	cmd.Env = append(slices.Clone(h.Env), "PATH="+filepath.Dir(h.program)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "bareclaw-heartbeat.timer") {
		h.T.Errorf("install.sh: %v\n%s", err, out)
	}
}

// heartAsksNothing: with BARECLAW_HEARTBEAT=revive a gateway installs a heartbeat that
// starts it when it is down, and Claude is not asked; nor is it when the setting is gone.
func heartAsksNothing(h *heart) {
	h.timer("OnBootSec=", "OnActiveSec=1d")
	beats := func() {
		h.T.Helper()
		if out, err := h.manager.Systemctl("start", "bareclaw-heartbeat.service"); err != nil {
			h.T.Errorf("a tick that systemd calls: %v %s", err, out)
		}
	}
	h.setting("BARECLAW_HEARTBEAT=revive")
	h.serve("heartbeat installed").Kill()
	h.consents(heartbeat.ConsentRevive)
	beats()
	alive := h.revived(0)
	h.does("Claude is not asked (BARECLAW_HEARTBEAT is revive)", "heartbeat", "status")
	h.setting()
	beats()
	h.WantBeats("gateway serves, gateway serves", 0)
	if ticks := h.Ticks().Ticks; !ticks[0].Started || ticks[1].Started {
		h.T.Errorf("recorded %+v", ticks)
	}
	h.does("Claude is not asked: ", "heartbeat", "status")
	h.does("Claude is asked once every 1h", "heartbeat", "install")
	beats()
	h.WantBeats("gateway serves, gateway serves, ok", 1)
	h.does("Claude is not asked: ", "heartbeat", "install", "--revive")
	beats()
	h.WantBeats("gateway serves, gateway serves, ok, gateway serves", 1)
	_ = proc.Signal(alive.PID, alive.Start, syscall.SIGKILL)
}

// heartRevives: the timer's ticks start a gateway that is down, and it outlives the unit
// that started it. The timer begins at once here, and not minutes after the boot.
func heartRevives(h *heart) {
	h.setting("BARECLAW_HEARTBEAT=off", harness.SlotLength(0)) // or the gateway would mend the interval
	h.timer("AccuracySec=1ms", "OnActiveSec=1s")
	for _, v := range h.manager.Env { // this process is there for this test alone
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			h.T.Fatal(err)
		}
	}
	_, _ = os.Unsetenv("XDG_CONFIG_HOME"), os.Unsetenv("XDG_DATA_HOME")
	spec, err := service.NewSpec(service.Request{
		Binary: h.program, Dir: h.Path("work"), Environ: h.Env, Claude: harness.FakeClaude(h.T), StateDir: h.Path("state"), Interval: time.Second,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	if did, err := service.Local().Install(context.Background(), service.Heartbeat, spec); err != nil {
		h.T.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
	}
	var dead int
	for range 3 {
		alive := h.revived(dead)
		h.Eventually("the unit that started it is over", func() bool { return h.unit("bareclaw-heartbeat.service", "ActiveState") == "inactive" })
		if out, err := h.manager.Systemctl("stop", "bareclaw-heartbeat.service"); err != nil {
			h.T.Errorf("systemctl stop: %v %s", err, out)
		}
		ticks := h.unit("bareclaw-heartbeat.service", "InvocationID")
		h.Eventually("the timer has called another tick", func() bool {
			now := h.unit("bareclaw-heartbeat.service", "InvocationID")
			return now != "" && now != ticks
		})
		g := &harness.Gateway{Machine: h.Machine, Base: "http://" + alive.Address, HTTP: harness.NewClient(h.T)}
		g.Say("http", "echo alive").Want(h.T, "alive")
		if !proc.Alive(alive.PID, alive.Start) {
			h.T.Fatal("the gateway did not outlive the unit")
		}
		if group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", alive.PID)); err != nil || !strings.Contains(string(group), "/bareclaw-gateway-") {
			h.T.Errorf("the gateway has no unit of its own: %v, %s", err, group)
		}
		if err := proc.Signal(alive.PID, alive.Start, syscall.SIGKILL); err != nil {
			h.T.Fatal(err)
		}
		dead = alive.PID
	}
	h.revived(dead)
	if n := h.Begun("[channel: heartbeat"); n != 1 {
		h.T.Errorf("the agent was asked %d times in one slot", n)
	}
	if did, err := service.Local().Uninstall(context.Background(), service.Heartbeat); err != nil {
		h.T.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
	}
	h.wantGone()
}

// revived waits for a gateway that is not the dead one, and serves.
func (h *heart) revived(dead int) (alive lockfile.Holder) {
	h.T.Helper()
	h.Eventually("a tick has started the gateway", func() bool {
		var err error
		alive, err = lockfile.ReadHolder(h.Path("state/" + lockfile.StateLockName))
		if err != nil || alive.PID == dead || alive.Address == "" || !proc.Alive(alive.PID, alive.Start) {
			return false
		}
		c, err := net.Dial("tcp", alive.Address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return alive
}

// heartStartsService: where the gateway is a service, a tick starts that.
func heartStartsService(h *heart) {
	h.setting("BARECLAW_HEARTBEAT=off")
	h.does("started bareclaw.service", "service", "install")
	if out, err := h.manager.Systemctl("stop", "bareclaw.service"); err != nil {
		h.T.Fatalf("%v %s", err, out)
	}
	h.does("HEARTBEAT_OK", "heartbeat", "run")
	if state := h.unit("bareclaw.service", "ActiveState"); state != "active" {
		h.T.Errorf("the service is %s", state)
	}
	if pid := h.unit("bareclaw.service", "MainPID"); pid != fmt.Sprint(h.revived(0).PID) {
		h.T.Errorf("the service's process is %s, not the gateway", pid)
	}
	h.WantBeats("ok", 1)
}

// heartOfAnother: a tick of a gateway with a state directory of its own leaves the service,
// which is another one's, alone, and starts its own.
func heartOfAnother(h *heart) {
	h.setting("BARECLAW_HEARTBEAT=off")
	h.does("started bareclaw.service", "service", "install")
	if out, err := h.manager.Systemctl("stop", "bareclaw.service"); err != nil {
		h.T.Fatalf("%v %s", err, out)
	}
	other := &heart{Machine: h.With("BARECLAW_STATE_DIR="+h.Path("other"), "BARECLAW_RUNTIME_DIR="+h.Path("other")), manager: h.manager, program: h.program}
	other.does("HEARTBEAT_OK", "heartbeat", "run")
	if state := h.unit("bareclaw.service", "ActiveState"); state != "inactive" {
		h.T.Errorf("the service of the other gateway is %s", state)
	}
	alive, err := lockfile.ReadHolder(h.Path("other/" + lockfile.StateLockName))
	if err != nil || !proc.Alive(alive.PID, alive.Start) {
		h.T.Fatalf("the gateway is %+v, %v", alive, err)
	}
	_ = proc.Signal(alive.PID, alive.Start, syscall.SIGKILL)
	h.does("HEARTBEAT_OK", "heartbeat", "run") // which starts the service for those whose it is
	if state := h.unit("bareclaw.service", "ActiveState"); state != "active" {
		h.T.Errorf("the service is %s", state)
	}
}
