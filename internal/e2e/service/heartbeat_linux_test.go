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
	"bareclaw/internal/testkit/check"
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
			harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) { test(newHeartAt(t, manager)) })
		})
	}
}

// A heart is an installation whose state directory is the usual one of its home.
type heart struct{ *installation }

const heartUnits = "/run/home/.config/systemd/user/" // of the user's systemd

func newHeartAt(t *testing.T, manager *harness.UserManager) *heart {
	t.Helper()
	h := &heart{newInstallation(t, manager)}
	h.Env = slices.DeleteFunc(h.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") })
	h.Env = append(h.Env, "XDG_STATE_HOME="+h.Path("xdg"))
	err := errors.Join(os.MkdirAll(h.Path("xdg/bareclaw"), 0o700), os.Remove(h.Path("state")), os.Symlink(h.Path("xdg/bareclaw"), h.Path("state"))) // where the tests look
	check.OK(t, err)
	h.setting()
	h.Remembers()
	return h
}

// setting makes a .env with these settings besides those that all have.
func (h *heart) setting(settings ...string) {
	h.T.Helper()
	settings = append([]string{"BARECLAW_HEARTBEAT_MESSAGE='echo HEARTBEAT_OK'"}, settings...)
	h.Write("work/.env", strings.Join(settings, "\n")+"\n", 0o600)
}

// serve starts the gateway by hand and waits until the gateway logs this about the
// heartbeat.
func (h *heart) serve(says string) *harness.Gateway {
	h.T.Helper()
	before := len(h.Log.String())
	g := h.Start("sh", "-c", "exec "+h.program+" serve")
	h.Eventually("the gateway says "+says, func() bool { return strings.Contains(h.Log.String()[before:], says) })
	return g
}

func (h *heart) ticking() bool {
	return h.showOf("bareclaw-heartbeat.timer", "ActiveState") == "active"
}

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
	h.timing("OnBootSec=\nOnActiveSec=1d")
	h.serve("nobody has agreed to it").Kill()
	h.wantGone()
	h.does("heartbeat status", "nobody has agreed to it")
	h.does("heartbeat install", "Claude is asked once every 1h, which is billed")
	h.consents(heartbeat.ConsentAsk)
	if err := errors.Join(heartbeat.SaveConsent(h.Path("state"), heartbeat.ConsentNone), os.Remove(heartUnits+"bareclaw-heartbeat.service")); err != nil {
		h.T.Fatal(err) // as an older version has left it, and with something to be brought up to date
	}
	g := h.serve("heartbeat installed")
	h.consents(heartbeat.ConsentAsk)
	if !h.ticking() {
		h.T.Error("the timer is not active")
	}
	if h.systemctl("start", "bareclaw-heartbeat.service"); h.Outcomes() != "ok" {
		h.T.Errorf("a tick that systemd calls has the outcomes %s", h.Outcomes())
	}
	h.verified()
	h.does("heartbeat status", "installed by systemd, every 1h\n")
	g.Kill()

	h.setting("BARECLAW_HEARTBEAT_INTERVAL=2h")
	g = h.serve("heartbeat installed")
	if timer, err := os.ReadFile(heartUnits + "bareclaw-heartbeat.timer"); err != nil || !strings.Contains(string(timer), "OnUnitActiveSec=2h\n") {
		h.T.Errorf("the timer, with another interval: %v\n%s", err, timer)
	}
	g.Kill()

	h.uninstallByHand()
	h.wantGone()
	h.serve("heartbeat installed").Kill()

	h.does("heartbeat uninstall", "removed")
	h.wantGone()
	h.consents(heartbeat.ConsentNo)
	h.serve("it was declined or uninstalled").Kill()
	h.wantGone()
	h.setting("BARECLAW_HEARTBEAT=revive")
	h.serve("it was declined or uninstalled").Kill()
	h.wantGone()
	h.setting()
	h.does("heartbeat install", "started bareclaw-heartbeat.timer")
	if !h.ticking() {
		h.T.Error("the timer is not active")
	}
	cmd := exec.Command("bash", "./heartbeat/install.sh")
	cmd.Env = append(slices.Clone(h.Env), "PATH="+filepath.Dir(h.program)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "bareclaw-heartbeat.timer") {
		h.T.Errorf("install.sh: %v\n%s", err, out)
	}
}

// heartAsksNothing: with BARECLAW_HEARTBEAT=revive a gateway installs a heartbeat that
// starts it when it is down, and Claude is not asked; nor is it when the setting is gone.
func heartAsksNothing(h *heart) {
	h.timing("OnBootSec=\nOnActiveSec=1d")
	beats := func() { h.systemctl("start", "bareclaw-heartbeat.service") }
	h.setting("BARECLAW_HEARTBEAT=revive")
	h.serve("heartbeat installed").Kill()
	h.consents(heartbeat.ConsentRevive)
	beats()
	alive := h.revived(0)
	h.does("heartbeat status", "Claude is not asked (BARECLAW_HEARTBEAT is revive)")
	h.setting()
	beats()
	h.WantBeats("gateway serves, gateway serves", 0)
	if ticks := h.Ticks().Ticks; !ticks[0].Started || ticks[1].Started {
		h.T.Errorf("recorded %+v", ticks)
	}
	h.does("heartbeat status", "Claude is not asked: ")
	h.does("heartbeat install", "Claude is asked once every 1h")
	beats()
	h.WantBeats("gateway serves, gateway serves, ok", 1)
	h.does("heartbeat install --revive", "Claude is not asked: ")
	beats()
	h.WantBeats("gateway serves, gateway serves, ok, gateway serves", 1)
	_ = proc.Signal(alive.PID, alive.Start, syscall.SIGKILL)
}

// heartRevives: the timer's ticks start a gateway that is down, and it outlives the unit
// that started it. The timer begins at once here, and not minutes after the boot.
func heartRevives(h *heart) {
	h.setting("BARECLAW_HEARTBEAT=off", harness.SlotLength(0)) // or the gateway would mend the interval
	h.timing("AccuracySec=1ms\nOnActiveSec=1s")
	local := h.local()
	spec, err := service.NewSpec(service.Request{
		Binary: h.program, Dir: h.Path("work"), Environ: h.Env, Claude: harness.FakeClaude(h.T), StateDir: h.Path("state"), Interval: time.Second,
	})
	check.OK(h.T, err)
	if did, err := local.Install(context.Background(), service.Heartbeat, spec); err != nil {
		h.T.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
	}
	var dead int
	for range 3 {
		alive := h.revived(dead)
		h.Eventually("the unit that started it is stopped", func() bool { // the timer's next tick may cancel the stop
			_, err := h.manager.Systemctl("stop", "bareclaw-heartbeat.service")
			return err == nil
		})
		ticks := h.showOf("bareclaw-heartbeat.service", "InvocationID")
		h.Eventually("the timer has called another tick", func() bool {
			now := h.showOf("bareclaw-heartbeat.service", "InvocationID")
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
		check.OK(h.T, proc.Signal(alive.PID, alive.Start, syscall.SIGKILL))
		dead = alive.PID
	}
	h.revived(dead)
	if n := h.Begun("[channel: heartbeat"); n != 1 {
		h.T.Errorf("the agent was asked %d times in one slot", n)
	}
	if did, err := local.Uninstall(context.Background(), service.Heartbeat); err != nil {
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
	h.does("service install", "started bareclaw.service")
	h.systemctl("stop", "bareclaw.service")
	h.does("heartbeat run", "HEARTBEAT_OK")
	if state := h.showOf("bareclaw.service", "ActiveState"); state != "active" {
		h.T.Errorf("the service is %s", state)
	}
	if pid := h.showOf("bareclaw.service", "MainPID"); pid != fmt.Sprint(h.revived(0).PID) {
		h.T.Errorf("the service's process is %s, not the gateway", pid)
	}
	h.WantBeats("ok", 1)
}

// heartOfAnother: a tick of a gateway with a state directory of its own leaves the service,
// which is another one's, alone, and starts its own.
func heartOfAnother(h *heart) {
	h.setting("BARECLAW_HEARTBEAT=off")
	h.does("service install", "started bareclaw.service")
	h.systemctl("stop", "bareclaw.service")
	own := h.Env
	h.Env = slices.Concat(own, []string{"BARECLAW_STATE_DIR=" + h.Path("other"), "BARECLAW_RUNTIME_DIR=" + h.Path("other")})
	h.does("heartbeat run", "HEARTBEAT_OK")
	h.Env = own
	if state := h.showOf("bareclaw.service", "ActiveState"); state != "inactive" {
		h.T.Errorf("the service of the other gateway is %s", state)
	}
	alive, err := lockfile.ReadHolder(h.Path("other/" + lockfile.StateLockName))
	if err != nil || !proc.Alive(alive.PID, alive.Start) {
		h.T.Fatalf("the gateway is %+v, %v", alive, err)
	}
	_ = proc.Signal(alive.PID, alive.Start, syscall.SIGKILL)
	h.does("heartbeat run", "HEARTBEAT_OK") // which starts the service for those whose it is
	if state := h.showOf("bareclaw.service", "ActiveState"); state != "active" {
		h.T.Errorf("the service is %s", state)
	}
}
