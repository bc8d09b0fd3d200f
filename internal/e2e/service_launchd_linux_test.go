package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/launchctl"
)

// A mac is a machine with a stand-in for launchd, which starts jobs and does not watch
// over them.
type mac struct {
	*gateway
	program string
}

func newMac(t *testing.T) *mac {
	t.Helper()
	m := newMachine(t)
	launchctlProgram, err := os.Executable() // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"launchd", "bin"} {
		if err := os.Mkdir(m.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := m.path("home/bareclaw & co")
	for link, target := range map[string]string{m.path("bin/launchctl"): launchctlProgram, program: bareclaw(t)} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	m.env = append(m.env, "PATH="+m.path("bin")+":"+os.Getenv("PATH"), launchctl.Variable+"="+m.path("launchd"))
	m.write("work/.env", "FAKECLAUDE_LOG="+m.path("journal")+"\n", 0o600)
	c := &mac{gateway: &gateway{machine: m, sock: m.path("run/api.sock"), http: newClient(t)}, program: program}
	t.Cleanup(func() {
		c.bareclaw("service", "uninstall")
		b, _ := os.ReadFile(m.path("state/bareclaw.log"))
		_, _ = m.log.Write(b)
	})
	return c
}

// bareclaw runs a command of the service for launchd, and returns what it says and its
// exit status.
func (c *mac) bareclaw(args ...string) (string, int) {
	c.t.Helper()
	cmd := exec.Command(c.program, slices.Concat(args, []string{"--system", "launchd"})...)
	cmd.Env, cmd.Dir = c.env, c.path("work")
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// does runs a command that must end with a status and say all of this.
func (c *mac) does(status int, args []string, says ...string) {
	c.t.Helper()
	out, got := c.bareclaw(args...)
	if got != status {
		c.t.Errorf("bareclaw %q: exit status %d, want %d\n%s", args, got, status, out)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			c.t.Errorf("bareclaw %q does not say %q:\n%s", args, want, out)
		}
	}
}

// legacy runs a line of a shell as people were told to.
func (c *mac) legacy(line string) {
	c.t.Helper()
	cmd := exec.Command("sh", "-e", "-c", line)
	cmd.Env = c.env
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		c.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// found turns to the gateway that launchd has started.
func (c *mac) found() {
	c.t.Helper()
	c.eventually("the gateway serves", func() bool {
		h, err := lockfile.ReadHolder(c.path("state/" + lockfile.StateLockName))
		if err != nil || !proc.Alive(h.PID, h.Start) {
			return false
		}
		c.base = "http://" + h.Address
		a, err := c.do("GET", "/health", nil)
		return err == nil && a.flag("ready")
	})
}

// TestLaunchdService installs the gateway as a job of launchd, changes it, and removes
// it.
func TestLaunchdService(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	plist := c.path("home/Library/LaunchAgents/com.bareclaw.gateway.plist")
	install, status, uninstall := []string{"service", "install", "--binary", c.program}, []string{"service", "status", "--binary", c.program}, []string{"service", "uninstall"}
	c.does(1, status, "not installed")
	c.does(1, install[:2], "build it where it can stay") // which this test's program is, unless it is asked for
	c.does(0, install, "wrote "+plist, "loaded com.bareclaw.gateway, pid ")
	c.found()
	if info, err := os.Stat(plist); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", plist, info, err)
	}
	claude := c.say("http", "pid").str("text")
	first := c.lockFile()
	c.does(0, install, "unchanged "+plist, "loaded already: com.bareclaw.gateway, pid ")
	c.does(0, status, "launchd: running, pid ")
	if now := c.lockFile(); now.PID != first.PID {
		t.Errorf("an installation that changes nothing made pid %d of %d", now.PID, first.PID)
	}
	c.env = append(c.env, "BARECLAW_LOG_LEVEL=debug")
	c.does(0, install, "wrote "+plist, "unloaded the old com.bareclaw.gateway", "loaded com.bareclaw.gateway, pid ")
	c.found()
	if now := c.say("http", "pid").str("text"); now != claude || c.lockFile().PID == first.PID {
		t.Errorf("claude was %s and is %s; the gateway has pid %d after %d", claude, now, c.lockFile().PID, first.PID)
	}

	stop, start := []string{"service", "stop"}, []string{"service", "start"}
	before := c.lockFile()
	c.does(0, stop, "Stopped the gateway (pid "+strconv.Itoa(before.PID)+") through launchd", "`bareclaw service start`")
	c.does(1, status, "launchd does not have it", "`bareclaw service start`")
	c.does(3, stop, "no gateway runs here")
	c.does(0, start, "Started the service, pid ")
	c.found()
	c.does(0, start, "runs already")
	c.does(0, []string{"service", "restart"}, "Restarted the service, pid ")
	c.found()
	if now := c.say("http", "pid").str("text"); now != claude || proc.Alive(before.PID, before.Start) {
		t.Errorf("claude was %s and is %s; the gateway had pid %d and has %d", claude, now, before.PID, c.lockFile().PID)
	}
	c.does(0, append(stop, "--now"), "through launchd")
	c.does(0, start, "Started the service, pid ")
	c.found()

	// What launchctl did before bootstrap and bootout works with it too.
	c.legacy("launchctl unload ~/Library/LaunchAgents/com.bareclaw.gateway.plist")
	c.does(1, status, "launchd does not have it")
	c.legacy("launchctl load ~/Library/LaunchAgents/com.bareclaw.gateway.plist")
	c.found()
	c.does(0, uninstall, "unloaded com.bareclaw.gateway", "removed "+plist)
	if len(c.hosts()) > 0 {
		t.Errorf("hosts are left: %v", c.hosts())
	}
	c.does(0, uninstall, "nothing to remove")
	if left, err := filepath.Glob(c.path("home/Library/LaunchAgents/*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestLaunchdHeartbeatLog has launchd call ticks: each of their lines is in the heartbeat's
// log once, which is kept within bounds, and so is why a tick could not begin. Nothing is
// written elsewhere.
func TestLaunchdHeartbeatLog(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	c.env = append(c.env, "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK", slotLength(0))
	c.machine.with("FAKECLAUDE_LOG=" + c.path("journal")).start()
	c.does(0, []string{"heartbeat", "install", "--binary", c.program}, "loaded com.bareclaw.heartbeat")
	t.Cleanup(func() { c.bareclaw("heartbeat", "uninstall") })
	kickstart := "launchctl kickstart gui/$(id -u)/com.bareclaw.heartbeat"
	log := func(name string) string {
		b, _ := os.ReadFile(c.path("state/" + name)) // it may not be there yet
		return string(b)
	}
	c.write("state/heartbeat.log", strings.Repeat("an old line\n", 1<<20/12+1), 0o600)
	c.legacy(kickstart)
	c.eventually("the tick is over", func() bool { return strings.Contains(log("heartbeat.log"), "ok: HEARTBEAT_OK") })
	if now := log("heartbeat.log"); strings.Count(now, "asked: message") != 1 || strings.Contains(now, "an old line") {
		t.Errorf("the log is %.500q", now)
	}
	if old := log("heartbeat.log.1"); !strings.HasSuffix(old, "an old line\n") {
		t.Errorf("the old one ends with %.100q", old[max(0, len(old)-100):])
	}
	c.write("work/.env", "BARECLAW_QUEUE_LIMIT=none\n", 0o600)
	c.eventually("the reason is in the log", func() bool {
		c.legacy(kickstart) // nothing is done while one runs
		return strings.Contains(log("heartbeat.log"), "BARECLAW_QUEUE_LIMIT")
	})
	if files := c.glob("state/*.log*"); len(files) != 3 { // bareclaw.log is the third one
		t.Errorf("logs: %v", files)
	}
}
