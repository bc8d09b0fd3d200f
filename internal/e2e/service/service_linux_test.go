package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bareclaw/heartbeat/service"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// TestService installs the gateway as a user does, in a real `systemd --user`.
func TestService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *installation){
		"is installed": serviceIsInstalled, "restarts": serviceRestarts, "takes over": serviceTakesOver,
		"has a socket": serviceHasSocket, "is stopped": serviceIsStopped,
		"hangs": serviceHangs, "is stopped by commands": serviceIsStoppedByCommands, "with a socket is stopped": serviceWithSocketIsStopped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) { test(t, newInstallation(t, manager)) })
		})
	}
}

// An installation is a home into which bareclaw is installed.
type installation struct {
	*unit
	program string
}

// writeUsers writes the user's file of settings below a home: variables for the tools of claude
// stand in that file alone.
func writeUsers(t *testing.T, home string, settings ...string) {
	t.Helper()
	dir := filepath.Join(home, ".config", "bareclaw")
	check.OK(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, ".env"), []byte(strings.Join(settings, "\n")+"\n"), 0o600)))
}

// newInstallation puts the program into the home of a systemd, with a directory whose
// .env is the gateway's.
func newInstallation(t *testing.T, manager *harness.UserManager) *installation {
	t.Helper()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "HOME="+manager.Home, "XDG_RUNTIME_DIR="+harness.RuntimeDir)
	writeUsers(t, manager.Home, "FAKECLAUDE_LOG="+m.Path("journal"))
	m.Write("work/.env", "# the gateway's\n", 0o600)
	m.Remembers()
	if out, err := manager.Systemctl("set-environment", "GORACE=atexit_sleep_ms=0"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self := harness.Bareclaw(t)
	i := &installation{
		unit:    &unit{Gateway: &harness.Gateway{Machine: m, Sock: m.Path("run/api.sock"), HTTP: harness.NewClient(t)}, manager: manager, name: "bareclaw.service"},
		program: filepath.Join(manager.Home, "bin", "bareclaw"),
	}
	harness.CopyProgram(t, self, i.program)
	t.Cleanup(func() {
		_, _ = manager.Systemctl("stop", "bareclaw.service")
		b, _ := os.ReadFile(m.Path("state/bareclaw.log"))
		_, _ = m.Log.Write(b)
	})
	return i
}

// bareclaw runs a command of the installed program where the .env is, and returns what
// it says and its exit status.
func (i *installation) bareclaw(args ...string) (string, int) {
	i.T.Helper()
	cmd := exec.Command(i.program, args...)
	cmd.Env, cmd.Dir = i.Env, i.Path("work")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		i.T.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// does runs a command that must succeed and say all of this.
func (i *installation) does(args string, says ...string) string {
	i.T.Helper()
	out, status := i.bareclaw(strings.Fields(args)...)
	if status != 0 {
		i.T.Fatalf("bareclaw %s: exit status %d\n%s", args, status, out)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			i.T.Errorf("bareclaw %s does not say %q:\n%s", args, want, out)
		}
	}
	return out
}

// install installs the service and turns to the gateway that it runs.
func (i *installation) install() {
	i.T.Helper()
	i.does("service install", "started bareclaw.service, pid ")
	i.found()
}

// files lists what is in the home besides the program, the settings and the state.
func (i *installation) files() (paths []string) {
	i.T.Helper()
	err := filepath.WalkDir(i.manager.Home, func(path string, d fs.DirEntry, err error) error {
		mine := path == i.program || path == filepath.Join(i.manager.Home, ".config/bareclaw/.env") || strings.Contains(path, "/.local/state/")
		if err == nil && !d.IsDir() && !mine {
			paths = append(paths, path)
		}
		return err
	})
	check.OK(i.T, err)
	return paths
}

// verified fails unless systemd has nothing to say about the units of the home.
func (i *installation) verified() {
	i.T.Helper()
	dir := filepath.Join(i.manager.Home, ".config/systemd/user")
	entries, err := os.ReadDir(dir)
	check.OK(i.T, err)
	var units []string
	for _, e := range entries {
		if !e.IsDir() {
			units = append(units, filepath.Join(dir, e.Name()))
		}
	}
	cmd := exec.Command("systemd-analyze", append([]string{"--user", "verify"}, units...)...)
	cmd.Env = i.manager.Env
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		i.T.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func serviceIsInstalled(t *testing.T, i *installation) {
	units, settings := filepath.Join(i.manager.Home, ".config/systemd/user"), filepath.Join(i.manager.Home, ".config/bareclaw/service.env")
	if out, status := i.bareclaw("service", "status"); status != 1 || !strings.Contains(out, "not installed") {
		t.Errorf("status before: %d\n%s", status, out)
	}
	printed := i.does("service install --print", "ExecStart="+i.program, settings)
	if files := i.files(); len(files) > 0 {
		t.Fatalf("--print wrote %v", files)
	}
	out := i.does("service install", "wrote "+filepath.Join(units, "bareclaw.service"), "wrote "+settings, "enabled bareclaw.service", "started bareclaw.service, pid ")
	i.found()
	i.isWell()
	if pid := strconv.Itoa(i.LockFile().PID); !strings.Contains(out, "pid "+pid+"\n") {
		t.Errorf("the gateway has pid %s, but:\n%s", pid, out)
	}
	if info, err := os.Stat(settings); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", settings, info, err)
	}
	for _, name := range []string{filepath.Join(units, "bareclaw.service"), settings} {
		if b, err := os.ReadFile(name); err != nil || !strings.Contains(printed, string(b)) {
			t.Errorf("--print did not show %s as it was written (%v)", name, err)
		}
	}
	i.verified()
	if state := i.systemctl("is-enabled", i.name); state != "enabled" {
		t.Errorf("it is %s", state)
	}
	i.Say("http", "echo hello").Want(t, "hello")
	i.statusIsWell()

	pid := i.LockFile().PID
	i.does("service install", "unchanged "+filepath.Join(units, "bareclaw.service"), "unchanged "+settings, "runs already: bareclaw.service, pid "+strconv.Itoa(pid))
	if now := i.LockFile().PID; now != pid {
		t.Errorf("an installation that changes nothing made pid %d of %d", now, pid)
	}

	hosts := i.Hosts()
	i.does("service uninstall", "stopped the gateway and its sessions", ".wants/bareclaw.service", "removed "+settings, i.Path("state"))
	if files := i.files(); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	if len(hosts) == 0 || len(i.Hosts()) > 0 {
		t.Errorf("hosts were %v and are %v", hosts, i.Hosts())
	}
	if _, err := os.Stat(i.Path("state/ledger.db")); err != nil {
		t.Error("the state is gone:", err)
	}
	i.Eventually("systemd has forgotten it", func() bool {
		return i.systemctl("list-units", "--all", "--plain", "--no-legend", "bareclaw*") == ""
	})
	i.does("service uninstall", "nothing to remove")
}

// statusIsWell fails unless the status of the service is what it should be.
func (i *installation) statusIsWell() {
	i.T.Helper()
	var st service.Status
	out := i.does("service status --json")
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		i.T.Fatalf("%v: %s", err, out)
	}
	if !st.Installed || !st.Current || !st.Active || st.PID != i.LockFile().PID || st.Problem != "" || st.State != "active (running)" || st.Since.IsZero() {
		i.T.Errorf("status is %+v", st)
	}
}

// serviceRestarts has the gateway end in all ways while a turn runs: it is there again,
// and the turn is answered by the same claude.
func serviceRestarts(t *testing.T, i *installation) {
	i.install()
	sameClaude := i.SameClaude("idle")
	for n, again := range []func(){
		i.killMain,
		func() { i.systemctl("restart", i.name) },
		func() {
			for range 10 {
				i.handOver(i.reload)
			}
		},
		func() { // settings have changed
			i.Env = append(i.Env, "BARECLAW_LOG_LEVEL=debug")
			i.does("service install", "wrote ", "restarted bareclaw.service, pid ")
		},
	} {
		before := i.LockFile()
		id := i.Tell("http", "wait "+i.Path("go"+strconv.Itoa(n)))
		i.Eventually("turn runs", func() bool { return i.Begun("go"+strconv.Itoa(n)) == 1 })
		again()
		i.Eventually("there is another gateway", func() bool { return i.Worker() != before.Worker })
		i.found()
		i.Touch("go" + strconv.Itoa(n))
		i.Outcome(id).Want(t, "waited for "+i.Path("go"+strconv.Itoa(n)))
		sameClaude(i.Gateway)
	}
	i.statusIsWell()
	i.Balanced()
}

// serviceHangs has the daemon of an installed service hang in several ways: systemd kills
// it and starts it again by the unit as it was installed, of which only the time is
// shortened, and the turn that ran is answered by the same claude.
func serviceHangs(t *testing.T, i *installation) {
	harness.NeedStrace(t)
	i.dropIn("bareclaw.service", "[Service]\nWatchdogSec=3")
	i.install()
	installed, err := os.ReadFile(filepath.Join(i.manager.Home, ".config/systemd/user/bareclaw.service"))
	if err != nil || !bytes.Contains(installed, []byte("\nWatchdogSec=1min\n")) {
		t.Errorf("the unit, whose watchdog this shortens: %v\n%s", err, installed)
	}
	for property, want := range map[string]string{"WatchdogUSec": "3s", "RestartUSec": "2s", "Restart": "on-failure", "KillMode": "process", "NotifyAccess": "main"} {
		if got := i.show(property); got != want {
			t.Errorf("%s is %s, want %s", property, got, want)
		}
	}
	restarts := 0
	for name, hang := range hangs {
		restarts++
		i.hangAndReturn(hang, restarts)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	i.statusIsWell()
}

// serviceIsStopped uninstalls a service that is stopped, and is told what goes on: sessions,
// and the heartbeat that would start the gateway again.
func serviceIsStopped(t *testing.T, i *installation) {
	i.timing("OnBootSec=\nOnActiveSec=1h") // no tick starts the gateway meanwhile
	i.install()
	i.Say("idle", "pid")
	i.does("heartbeat install", "started bareclaw-heartbeat.timer")
	i.systemctl("stop", i.name)
	i.does("service uninstall", "removed ", `the session of channel "idle" is still at work`, "after the next boot: `bareclaw heartbeat uninstall` ends that")
	i.does("heartbeat uninstall", "removed ")
	i.does("service uninstall", "nothing to remove", "still at work")
}

// serviceIsStoppedByCommands stops, starts and restarts an installed service. What was
// stopped stays down, whoever ticks, until a person starts it.
func serviceIsStoppedByCommands(t *testing.T, i *installation) {
	if out, status := i.bareclaw("service", "start"); status != 1 || !strings.Contains(out, "`bareclaw service install`") {
		t.Errorf("start of what is not installed: %d\n%s", status, out)
	}
	i.install()
	claude := i.Say("http", "pid").Str("text")
	first := i.LockFile()
	i.does("service start", "runs already", strconv.Itoa(first.PID))
	for _, stop := range []string{"stop", "service stop", "stop --now"} {
		before := i.LockFile()
		i.does(stop, "Stopped the gateway (pid "+strconv.Itoa(before.PID)+") through systemd", "1 session kept", "`bareclaw start`, or ")
		if state := i.show("ActiveState"); state != "inactive" || proc.Alive(before.PID, before.Start) {
			t.Errorf("after %s the unit is %s", stop, state)
		}
		if out, status := i.bareclaw("status"); status != 3 || !strings.Contains(out, "you stopped it at") || !strings.Contains(out, "`bareclaw start`") {
			t.Errorf("status after %s: %d\n%s", stop, status, out)
		}
		if out, status := i.bareclaw("heartbeat", "run"); status != 0 || !strings.Contains(out, "stopped by you") || i.show("ActiveState") != "inactive" {
			t.Errorf("a tick after %s: %d\n%s", stop, status, out)
		}
		i.does("service start", "Started the service, pid ")
		i.found()
		if now := i.Say("http", "pid").Str("text"); now != claude {
			t.Errorf("claude was %s and is %s", claude, now)
		}
	}
	before := i.LockFile()
	i.does("service restart", "Restarted the service, pid ")
	i.found()
	if now := i.Say("http", "pid").Str("text"); now != claude || i.LockFile().PID == before.PID {
		t.Errorf("claude was %s and is %s; the gateway has pid %d after %d", claude, now, i.LockFile().PID, before.PID)
	}
	i.does("stop --sessions", "Ended 1 session")
	if hosts := i.Hosts(); len(hosts) > 0 {
		t.Errorf("hosts are left: %v", hosts)
	}
	i.systemctl("start", i.name) // a person may use systemd itself
	i.found()
	i.killMain()
	if out, _ := i.bareclaw("status"); strings.Contains(out, "you stopped it") {
		t.Errorf("a gateway that was started and has died was stopped:\n%s", out)
	}
	i.does("stop --sessions")
}

// serviceWithSocketIsStopped: nobody who connects starts a gateway that was stopped.
func serviceWithSocketIsStopped(t *testing.T, i *installation) {
	port := harness.FreePort(t)
	i.Write("work/.env", "BARECLAW_PORT="+port+"\n", 0o600)
	i.Env = slices.DeleteFunc(i.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_PORT=") })
	i.does("service install --socket", "started bareclaw.service, pid ")
	i.found()
	i.does("stop", "through systemd")
	if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
		_ = conn.Close()
		t.Error("somebody listens")
	}
	i.does("service start", "Started the service, pid ")
	i.found()
	i.does("service stop --sessions", "through systemd")
}

// serviceTakesOver installs the service where a gateway runs already.
func serviceTakesOver(t *testing.T, i *installation) {
	i.Env = append(i.Env, "FAKECLAUDE_LOG="+i.Path("journal"))
	g := i.Machine.Start()
	sameClaude := g.SameClaude("http")
	byHand := i.LockFile()
	out, status := i.bareclaw("service", "install")
	if status != 1 || !strings.Contains(out, "pid "+strconv.Itoa(byHand.PID)) || !strings.Contains(out, "--take-over") {
		t.Errorf("install beside a gateway: %d\n%s", status, out)
	}
	if !proc.Alive(byHand.PID, byHand.Start) {
		t.Fatal("the gateway is gone")
	}
	i.does("service install --take-over", "unchanged ", fmt.Sprintf("stopped the gateway with pid %d", byHand.PID), "started the service, pid ")
	i.found()
	i.isWell()
	sameClaude(i.Gateway)
}

// serviceHasSocket has systemd listen for the gateway itself.
func serviceHasSocket(t *testing.T, i *installation) {
	port := harness.FreePort(t)
	address := net.JoinHostPort("127.0.0.1", port)
	i.Env = append(i.Env, "BARECLAW_PORT="+port)
	i.install()
	claude := i.Say("http", "pid").Str("text")
	i.does("service install --socket", "wrote ", "enabled bareclaw.socket", "started bareclaw.service, pid ")
	i.found()
	i.isWell()
	i.verified()
	if i.Base != "http://"+address || i.systemctl("is-active", "bareclaw.socket") != "active" {
		t.Errorf("it serves at %s, not %s", i.Base, address)
	}
	i.systemctl("stop", "bareclaw.service")
	if now := i.Say("http", "pid").Str("text"); now != claude { // which starts it
		t.Errorf("claude was %s and is %s", claude, now)
	}
	i.Eventually("systemd knows that it serves", func() bool { return i.show("ActiveState") == "active" }) // it answers a moment before
	i.statusIsWell()
	i.does("service install", ".wants/bareclaw.socket", "started bareclaw.service, pid ")
	i.found()
	i.verified()
	if state := i.showOf("bareclaw.socket", "ActiveState"); i.Base != "http://"+address || state != "inactive" {
		t.Errorf("without a socket it serves at %s, and the socket is %s", i.Base, state)
	}
	i.does("service install --socket", "wrote ", "enabled bareclaw.socket", "started bareclaw.service, pid ")
	i.does("service uninstall", "stopped bareclaw.socket", ".wants/bareclaw.socket", ".wants/bareclaw.service")
	if len(i.Hosts()) > 0 {
		t.Errorf("hosts are left: %v", i.Hosts())
	}
	if files := i.files(); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// local is the service manager of the home, seen from this process, which is there for
// one test alone.
func (i *installation) local() service.Manager {
	i.T.Helper()
	for _, v := range append(i.manager.Env, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=") {
		name, value, _ := strings.Cut(v, "=")
		check.OK(i.T, os.Setenv(name, value))
	}
	return service.Local()
}

// awkward is what a home may be called without that systemd refuses to start a program
// in it.
const awkward = "/run/a b  %h $HOME ${PATH} & é [z]* ; #x"

// TestServiceFilesSurviveSystemd starts jobs whose paths and settings hold all that
// means something to systemd, and looks what arrives.
func TestServiceFilesSurviveSystemd(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, awkward, func(t *testing.T, manager *harness.UserManager) {
		i := &installation{unit: &unit{Gateway: &harness.Gateway{Machine: harness.NewMachine(t)}, manager: manager}}
		local := i.local()
		seen := filepath.Join(manager.Home, "seen")
		program := filepath.Join(manager.Home, "bareclaw $$ %%")
		script := "#!/bin/sh\nsetsid sleep 1000 &\necho $! > \"$SEEN.new\"\nmv \"$SEEN.new\" \"$SEEN.pid\"\n" + // whole when they are there: the timer goes on
			"{ pwd; printf '%s\\n' \"$@\"; env -0; } > \"$SEEN.new\"\nmv \"$SEEN.new\" \"$SEEN\"\n"
		check.OK(t, executable.Write(program, []byte(script)))
		dir := filepath.Join(manager.Home, `it's "here" \x20 100% $PWD; -`)
		check.OK(t, os.Mkdir(dir, 0o755))
		settings := []string{"SEEN=" + seen, `A= "a" 'b' \n $HOME ${X} %h %% # ; é `, "B=one\ntwo\\\nthree\n", "C=\\", "D=`id`", "E=a\\$b\\`c\\\"d"}
		spec := service.Spec{
			Binary: program, Dir: dir, Path: os.Getenv("PATH"), Claude: "/opt/cl au%de/$x", StateDir: manager.Home, Interval: 1e9, Settings: settings,
		}
		i.timing("AccuracySec=1ms") // it elapses when it should and not within the minute after that
		did, err := local.Install(context.Background(), service.Heartbeat, spec)
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
		}
		i.verified()
		check.OK(t, local.Start(context.Background(), service.Heartbeat))
		b, err := os.ReadFile(seen)
		check.OK(t, err)
		if want := dir + "\nheartbeat\nrun\n"; !strings.HasPrefix(string(b), want) {
			t.Errorf("it saw %q, not %q", b, want)
		}
		environ := "\x00" + string(b[bytes.LastIndex(b[:bytes.IndexByte(b, 0)], []byte("run\n"))+4:])
		for _, want := range append(settings, "PATH="+spec.Path, "BARECLAW_AGENT=claude", "BARECLAW_CLAUDE="+spec.Claude) {
			if !strings.Contains(environ, "\x00"+want+"\x00") {
				t.Errorf("%q is not in %q", want, environ)
			}
		}
		heartbeatGoes(t, i, local, spec)
	})
}

// uninstallByHand removes the heartbeat with the commands that have always done so.
func (i *installation) uninstallByHand() {
	i.T.Helper()
	cmd := exec.Command("bash", "-e", "-c", "systemctl --user disable --now bareclaw-heartbeat.timer\n"+
		"rm ~/.config/systemd/user/bareclaw-heartbeat.{service,timer}\nsystemctl --user daemon-reload\n")
	cmd.Env = i.manager.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		i.T.Fatalf("%v\n%s", err, out)
	}
}

// dropIn adds lines to an installed unit, in a file of the runtime directory.
func (i *installation) dropIn(unit, text string) {
	i.T.Helper()
	dir := filepath.Join(harness.RuntimeDir, "systemd/user", unit+".d")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test.conf"), []byte(text+"\n"), 0o600)
	}
	check.OK(i.T, err)
}

// timing adds settings to those of the heartbeat's timer.
func (i *installation) timing(settings string) {
	i.T.Helper()
	i.dropIn("bareclaw-heartbeat.timer", "[Timer]\n"+settings)
}

// heartbeatGoes looks after a heartbeat that is installed, and removes it with the
// commands that have always done so.
func heartbeatGoes(t *testing.T, i *installation, local service.Manager, spec service.Spec) {
	b, err := os.ReadFile(filepath.Join(i.manager.Home, "seen.pid"))
	check.OK(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	check.OK(t, err)
	if _, err := proc.StartTime(pid); err != nil {
		t.Errorf("what the heartbeat started did not outlive it: %v", err)
	}
	st, err := local.Status(context.Background(), service.Heartbeat, spec)
	if err != nil || !st.Installed || !st.Current || !st.Active || st.Problem != "" {
		t.Errorf("status is %+v, %v", st, err)
	}
	seen := filepath.Join(i.manager.Home, "seen")
	check.OK(t, os.Remove(seen))
	i.Eventually("the timer has it written again", func() bool { _, err := os.Stat(seen); return err == nil })
	i.uninstallByHand()
	if st, err = local.Status(context.Background(), service.Heartbeat, spec); err != nil || st.Installed || st.Active {
		t.Errorf("afterwards it is %+v, %v", st, err)
	}
	for _, path := range i.files() {
		if strings.Contains(path, "/.config/systemd/") {
			t.Errorf("left behind: %s", path)
		}
	}
	if did, err := local.Install(context.Background(), service.Heartbeat, spec); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
	}
	if did, err := local.Uninstall(context.Background(), service.Heartbeat); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(did, "\n"))
	}
	for _, path := range i.files() {
		if strings.Contains(path, "heartbeat") {
			t.Errorf("left behind: %s", path)
		}
	}
}
