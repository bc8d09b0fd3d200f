package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/launchctl"
)

// A mac is a machine with a stand-in for launchd, which starts jobs and does not watch
// over them.
type mac struct {
	*harness.Gateway
	program string
}

func newMac(t *testing.T) *mac {
	t.Helper()
	m := harness.NewMachine(t)
	launchctlProgram, err := os.Executable() // see harness.Main
	check.OK(t, err)
	for _, dir := range []string{"launchd", "bin"} {
		check.OK(t, os.Mkdir(m.Path(dir), 0o700))
	}
	program := m.Path("home/bareclaw & co")
	for link, target := range map[string]string{m.Path("bin/launchctl"): launchctlProgram, program: harness.Bareclaw(t)} {
		check.OK(t, os.Symlink(target, link))
	}
	m.Env = append(m.Env, "PATH="+m.Path("bin")+":"+os.Getenv("PATH"), launchctl.Variable+"="+m.Path("launchd"))
	writeUsers(t, m.Path("home"), "FAKECLAUDE_LOG="+m.Path("journal"))
	m.Write("work/.env", "# the gateway's\n", 0o600)
	m.Remembers()
	c := &mac{Gateway: &harness.Gateway{Machine: m, Sock: m.Path("run/api.sock"), HTTP: harness.NewClient(t)}, program: program}
	t.Cleanup(func() {
		c.bareclaw("service", "uninstall")
		b, _ := os.ReadFile(m.Path("state/bareclaw.log"))
		_, _ = m.Log.Write(b)
	})
	return c
}

// bareclaw runs a command of the service for launchd, and returns what it says and its
// exit status.
func (c *mac) bareclaw(args ...string) (string, int) {
	c.T.Helper()
	cmd := exec.Command(c.program, slices.Concat(args, []string{"--system", "launchd"})...)
	cmd.Env, cmd.Dir = c.Env, c.Path("work")
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// does runs a command that must end with a status and say all of this.
func (c *mac) does(status int, args []string, says ...string) {
	c.T.Helper()
	out, got := c.bareclaw(args...)
	if got != status {
		c.T.Errorf("bareclaw %q: exit status %d, want %d\n%s", args, got, status, out)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			c.T.Errorf("bareclaw %q does not say %q:\n%s", args, want, out)
		}
	}
}

// legacy runs a line of a shell as people were told to.
func (c *mac) legacy(line string) {
	c.T.Helper()
	cmd := exec.Command("sh", "-e", "-c", line)
	cmd.Env = c.Env
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		c.T.Errorf("%s: %v\n%s", line, err, out)
	}
}

// TestServiceInARepository installs the service in a directory with somebody's .env, which counts
// only if the user says so.
func TestServiceInARepository(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	here, clone := c.Path("work"), c.Path("clone")
	check.OK(t, os.Rename(here, clone)) // another directory than that on record
	c.Write("work/.env", "BARECLAW_CLAUDE=./evil.sh\nBARECLAW_QUEUE_LIMIT=none\n", 0o600)
	c.Write("work/evil.sh", "#!/bin/sh\ntouch "+c.Path("ran")+"\n", 0o700)
	check.OK(t, os.RemoveAll(c.Path("home/.local/state")))
	plist := c.Path("home/Library/LaunchAgents/com.bareclaw.gateway.plist")
	install := []string{"service", "install", "--binary", c.program}
	c.does(0, install, "does not read "+here+"/.env: no gateway was started or set up there; --dir "+here+" has it read", "wrote "+plist, "loaded com.bareclaw.gateway, pid ")
	found(c.Gateway)
	c.Say("http", "echo hello").Want(t, "hello")
	if text := c.Contents("home/Library/LaunchAgents/com.bareclaw.gateway.plist"); strings.Contains(text, here) {
		t.Errorf("the service runs in the repository:\n%s", text)
	}
	c.does(2, append(install, "--dir", here), "BARECLAW_QUEUE_LIMIT")
	c.Write("work/.env", "BARECLAW_QUEUE_LIMIT=9\n", 0o600)
	c.does(0, append(install, "--dir", here), "reads "+here+"/.env at each start", "wrote "+plist)
	c.does(0, install, "reads "+here+"/.env at each start", "unchanged "+plist) // now it is on record
	if _, err := os.Stat(c.Path("ran")); err == nil {
		t.Error("the repository's program ran")
	}
}

// TestLaunchdService installs the gateway as a job of launchd, changes it, and removes
// it.
func TestLaunchdService(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	plist := c.Path("home/Library/LaunchAgents/com.bareclaw.gateway.plist")
	install, status, uninstall := []string{"service", "install", "--binary", c.program}, []string{"service", "status", "--binary", c.program}, []string{"service", "uninstall"}
	c.does(1, status, "not installed")
	c.does(1, install[:2], "build it where it can stay") // which this test's program is, unless it is asked for
	c.does(0, install, "wrote "+plist, "loaded com.bareclaw.gateway, pid ")
	found(c.Gateway)
	if info, err := os.Stat(plist); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", plist, info, err)
	}
	claude := c.Say("http", "pid").Str("text")
	first := c.LockFile()
	c.does(0, install, "unchanged "+plist, "loaded already: com.bareclaw.gateway, pid ")
	c.does(0, status, "launchd: running, pid ")
	if now := c.LockFile(); now.PID != first.PID {
		t.Errorf("an installation that changes nothing made pid %d of %d", now.PID, first.PID)
	}
	c.Env = append(c.Env, "BARECLAW_LOG_LEVEL=debug")
	c.does(0, install, "unchanged "+plist, "wrote ", "service.env", "unloaded the old com.bareclaw.gateway", "loaded com.bareclaw.gateway, pid ")
	found(c.Gateway)
	if now := c.Say("http", "pid").Str("text"); now != claude || c.LockFile().PID == first.PID {
		t.Errorf("claude was %s and is %s; the gateway has pid %d after %d", claude, now, c.LockFile().PID, first.PID)
	}

	stop, start := []string{"service", "stop"}, []string{"service", "start"}
	before := c.LockFile()
	c.does(0, stop, "Stopped the gateway (pid "+strconv.Itoa(before.PID)+") through launchd", "`bareclaw start`, or you log in")
	c.does(1, status, "launchd does not have it", "`bareclaw start`")
	c.does(3, stop, "no gateway runs here")
	c.does(0, start, "Started the service, pid ")
	found(c.Gateway)
	c.does(0, start, "runs already")
	c.does(0, []string{"service", "restart"}, "Restarted the service, pid ")
	found(c.Gateway)
	if now := c.Say("http", "pid").Str("text"); now != claude || proc.Alive(before.PID, before.Start) {
		t.Errorf("claude was %s and is %s; the gateway had pid %d and has %d", claude, now, before.PID, c.LockFile().PID)
	}
	c.does(0, append(stop, "--now"), "through launchd")
	c.does(0, start, "Started the service, pid ")
	found(c.Gateway)

	// What launchctl did before bootstrap and bootout works with it too.
	c.legacy("launchctl unload ~/Library/LaunchAgents/com.bareclaw.gateway.plist")
	c.does(1, status, "launchd does not have it")
	c.legacy("launchctl load ~/Library/LaunchAgents/com.bareclaw.gateway.plist")
	found(c.Gateway)
	c.does(0, uninstall, "unloaded com.bareclaw.gateway", "removed "+plist)
	if len(c.Hosts()) > 0 {
		t.Errorf("hosts are left: %v", c.Hosts())
	}
	c.does(0, uninstall, "nothing to remove")
	if left, err := filepath.Glob(c.Path("home/Library/LaunchAgents/*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestLaunchdHeartbeatLog has launchd call ticks: each of their lines is in the heartbeat's
// log once, which is kept within bounds, and so is why a tick could not begin. Nothing is
// written elsewhere.
func TestLaunchdHeartbeatLog(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	c.Env = append(c.Env, "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK", harness.SlotLength(0))
	c.Machine.With("FAKECLAUDE_LOG=" + c.Path("journal")).Start()
	c.does(0, []string{"heartbeat", "install", "--binary", c.program}, "loaded com.bareclaw.heartbeat")
	t.Cleanup(func() { c.bareclaw("heartbeat", "uninstall") })
	kickstart := "launchctl kickstart gui/$(id -u)/com.bareclaw.heartbeat"
	log := func(name string) string {
		b, _ := os.ReadFile(c.Path("state/" + name)) // it may not be there yet
		return string(b)
	}
	c.Write("state/heartbeat.log", strings.Repeat("an old line\n", 1<<20/12+1), 0o600)
	c.legacy(kickstart)
	c.Eventually("the tick is over", func() bool { return strings.Contains(log("heartbeat.log"), "ok, message ") })
	if now := log("heartbeat.log"); strings.Count(now, "asking for the run of the slot") != 1 || strings.Contains(now, "an old line") {
		t.Errorf("the log is %.500q", now)
	}
	if old := log("heartbeat.log.1"); !strings.HasSuffix(old, "an old line\n") {
		t.Errorf("the old one ends with %.100q", old[max(0, len(old)-100):])
	}
	c.Write("work/.env", "BARECLAW_QUEUE_LIMIT=none\n", 0o600)
	c.Eventually("the reason is in the log", func() bool {
		c.legacy(kickstart) // nothing is done while one runs
		return strings.Contains(log("heartbeat.log"), "BARECLAW_QUEUE_LIMIT")
	})
	if files := c.Glob("state/*.log*"); len(files) != 3 { // bareclaw.log is the third one
		t.Errorf("logs: %v", files)
	}
}

// TestInstallationAsPrinted builds the program into a home, has a `systemd --user` keep it
// running, and removes everything, with the commands of README.md, docs/run.md and docs/heartbeat.md.
func TestInstallationAsPrinted(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		i := newInstallation(t, manager)
		check.OK(t, os.RemoveAll(filepath.Dir(i.program)))
		i.program = filepath.Join(manager.Home, ".local/bin/bareclaw")
		i.Env = append(append(i.Env, harness.GoEnv(t)...), "PATH="+filepath.Dir(i.program)+":"+os.Getenv("PATH"))
		run := func(lines string) string { // in this directory, which is the one of the README
			t.Helper()
			cmd := exec.Command("bash", "-e", "-c", lines)
			cmd.Env = i.Env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s%v\n%s", lines, err, out)
			}
			return string(out)
		}
		build, _, _ := strings.Cut(harness.Printed(t, "docs/run.md", "bareclaw init\n"), "\n")
		run(build)
		run(harness.Printed(t, "README.md", "bareclaw service install"))
		i.found()
		i.isWell()
		i.Say("http", "echo hello").Want(t, "hello")
		if out := run(harness.Printed(t, "docs/run.md", "bareclaw service status")); !strings.Contains(out, "pid ") {
			t.Errorf("the status names no process:\n%s", out)
		}
		i.found()
		i.Say("http", "echo hello again").Want(t, "hello again")

		units := filepath.Join(manager.Home, ".config/systemd/user/bareclaw-heartbeat.*")
		run("bareclaw heartbeat install")
		if files, _ := filepath.Glob(units); len(files) != 2 {
			t.Errorf("the heartbeat has the files %v", files)
		}
		run(harness.Printed(t, "docs/heartbeat.md", "systemctl --user disable --now bareclaw-heartbeat.timer"))
		if files, _ := filepath.Glob(units); len(files) != 0 {
			t.Errorf("of the heartbeat are left %v", files)
		}
		run("bareclaw heartbeat install")
		run(harness.Printed(t, "docs/run.md", "bareclaw service uninstall"))
		if files := slices.DeleteFunc(i.files(), func(f string) bool { return strings.Contains(f, "/.config/go/") }); len(files) > 0 {
			t.Errorf("left behind: %v", files)
		}
		if hosts := i.Hosts(); len(hosts) > 0 {
			t.Errorf("sessions left behind: %v", hosts)
		}
	})
}

func TestInitForScriptsAsPrinted(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(123456789, "Anna", "Arden", "anna")
	chat := api.Private(anna)
	port := harness.FreePort(t)
	m.Env = append(m.Env, "BARECLAW_TELEGRAM_API="+api.URL())
	check.OK(t, os.Symlink(m.Executable(), m.Path("bin/bareclaw")))
	m.Write("work/token.txt", api.Token()+"\n", 0o600)
	m.AsPrinted(harness.Replaced(t, harness.Printed(t, "docs/run.md", "bareclaw init --yes"), "--port 4000", "--port "+port))
	m.CheckSaved(t, map[string]string{"BARECLAW_PORT": port, "BARECLAW_TELEGRAM_TOKEN": api.Token(), "BARECLAW_ALLOWED_USERS": "123456789"})
	chat.Send(anna, "hello")
	chat.AwaitText("ok: hello")
}

func TestSocketActivateAsPrinted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-socket-activate"); err != nil {
		t.Skip("NOT TESTED: sockets passed by hand: systemd-socket-activate is missing")
	}
	m, address := machineOn(t)
	m.Installed()
	var settings []string // the gateway gets nothing else: the command passes on HOME
	for _, v := range m.Env {
		if strings.HasPrefix(v, "BARECLAW_") || strings.HasPrefix(v, "FAKECLAUDE_") {
			settings = append(settings, v)
		}
	}
	m.Write("home/.config/bareclaw/.env", strings.Join(settings, "\n")+"\n", 0o600)
	cmd := exec.Command("bash", "-e", "-c", "exec "+harness.Replaced(t, harness.Printed(t, "docs/lifetimes.md", "systemd-socket-activate"), "127.0.0.1:3000", address))
	cmd.Env, cmd.Dir, cmd.Stderr = m.Env, m.Path("work"), m.Log
	check.OK(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-ended
	})
	knock(m, address)
	g := &harness.Gateway{Machine: m, Base: "http://" + address, Sock: m.Path("run/api.sock"), HTTP: harness.NewClient(t)}
	g.Say("http", "echo hello").Want(t, "hello")
	if h := m.LockFile(); h.PID != cmd.Process.Pid {
		t.Errorf("the gateway is process %d, started was %d", h.PID, cmd.Process.Pid)
	}
	check.OK(t, cmd.Process.Signal(syscall.SIGINT))
	<-ended
}

func TestLaunchdHeartbeatRemovedAsPrinted(t *testing.T) {
	t.Parallel()
	c := newMac(t)
	c.does(0, []string{"heartbeat", "install", "--binary", c.program}, "loaded com.bareclaw.heartbeat")
	c.legacy(harness.Printed(t, "docs/heartbeat.md", "launchctl unload"))
	c.does(0, []string{"heartbeat", "status"}, "not installed")
	if files := c.Glob("home/Library/LaunchAgents/*"); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}
