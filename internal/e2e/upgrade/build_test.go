package upgrade

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// copySource copies what is compiled and embedded into a directory of its own.
func copySource(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || len(name) > 1 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		case strings.HasSuffix(name, "_test.go") || name[0] == '.':
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), b, 0o600)
	})
	check.OK(t, err)
}

// goRun runs the gateway from its source, as the README says.
func goRun(m *harness.Machine, t *testing.T) *harness.Gateway {
	t.Helper()
	harness.Compiled(t, m.Path("source"), m.Env)
	cmd := exec.Command("go", "run", ".")
	cmd.Env, cmd.Dir, cmd.SysProcAttr = m.Env, m.Path("source"), &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = m.Log
	check.OK(t, cmd.Start())
	g := &harness.Gateway{Machine: m, Cmd: cmd, Sock: m.Path("run/api.sock"), Done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(g.Done)
	}()
	t.Cleanup(g.Kill)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.Eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.Log.String()) })
	g.HTTP = harness.NewClient(t)
	g.Base = ready.FindStringSubmatch(m.Log.String())[1]

	return g
}

// TestRestartBuilds runs the gateway from its source, changes that while a turn
// runs, and restarts: what the source says now is what answers.
func TestRestartBuilds(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_LOG_FORMAT=text", "BARECLAW_AGENT=echo", "BARECLAW_SOURCE=", harness.TrialVariable+"=1s")
	m.Env = append(m.Env, harness.GoEnv(t)...)
	copySource(t, m.Path("source"))
	const first = "I am not Claude."
	says := func(old, now string) {
		t.Helper()
		path := m.Path("source/internal/echoagent/echoagent.go")
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), old) {
			t.Fatalf("%s does not say %q (%v)", path, old, err)
		}
		check.OK(t, os.WriteFile(path, []byte(strings.Replace(string(b), old, now, 1)), 0o600))
	}
	g := goRun(m, t)
	cmd := g.Cmd
	restart := func(channel, want string) {
		t.Helper()
		g.Restart()
		if text := g.Say(channel, "hello").Str("text"); !strings.Contains(text, want) {
			t.Errorf("after the restart it says %q, want %q", text, want)
		}
		g.Eventually("the program stays, and knows", func() bool { return g.Must("GET", "/upgrade", nil, 200).Str("state") == "confirmed" })
	}
	if text := g.Say("one", "hello").Str("text"); !strings.Contains(text, first) {
		t.Errorf("it says %q", text)
	}
	says(first, "I am the second.")
	restart("two", "I am the second.")
	says("I am the second.", "`I am broken.")
	if a := g.Must("POST", "/restart", nil, 503); !strings.Contains(a.Str("error"), "echoagent.go:") {
		t.Errorf("a source that cannot be compiled: %s", a.Body)
	}
	if text := g.Say("two", "hello").Str("text"); !strings.Contains(text, "I am the second.") {
		t.Errorf("it says %q", text)
	}
	says("`I am broken.", "I am the third.")
	restart("three", "I am the third.")

	check.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) // as a terminal does on Ctrl-C
	g.WaitEnd()
	if hosts := m.Hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after Ctrl-C: %v", hosts)
	}

	// What was built is installed, as docs/upgrade.md has it, where its state is in the usual place.
	m.Write("home/.local/bin/bareclaw", "an older one", 0o755)
	check.OK(t, errors.Join(os.MkdirAll(m.Path("home/.local/state"), 0o700), os.Symlink(m.Path("state"), m.Path("home/.local/state/bareclaw"))))
	m.AsPrinted(harness.Printed(t, "docs/upgrade.md", "install -m 755"))
	newer, err := program.Sum(m.Path("state/bin/bareclaw"))
	if installed, failed := program.Sum(m.Path("home/.local/bin/bareclaw")); err != nil || failed != nil || installed != newer {
		t.Errorf("installed was another program than was built: %v, %v", err, failed)
	}
}

// inTurn returns the machine as commands see it that claude's Bash runs on a channel.
func inTurn(g *harness.Gateway, channel string) *harness.Machine {
	g.T.Helper()
	marker, socket := g.Say(channel, "env BARECLAW_SESSION").Str("text"), g.Say(channel, "env "+client.SocketVariable).Str("text")
	if marker == "" || socket == "" {
		g.T.Fatalf("claude has the session %q and the socket %q", marker, socket)
	}
	inside := *g.Machine
	inside.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.Path("home"), client.SocketVariable + "=" + socket, "BARECLAW_SESSION=" + marker}
	return &inside
}

// TestRestartInstalledFromATurn restarts an installed program from inside of a turn, where no
// setting names a source: the same file runs again, nothing is built, and the turn goes on.
func TestRestartInstalledFromATurn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_SOURCE=")
	m.Install("v1", "")
	before, err := program.Sum(m.Program)
	check.OK(t, err)
	g := m.Start()
	inside := inTurn(g, "desk")
	finish := g.Task("desk")
	host, holder := m.Hosts()["desk"], m.LockFile()
	inside.Command(exitcode.OK, "restart").Shows("Restarted in ")
	g.Serves("v1")
	if now := m.LockFile(); now.PID != holder.PID || now.Worker == holder.Worker {
		t.Errorf("the gateway was %+v and is %+v", holder, now)
	}
	if now, err := program.Sum(m.Program); err != nil || now != before {
		t.Errorf("the program's file is another one: %v", err)
	}
	if built, state := m.Glob("state/bin/*"), g.Must("GET", "/upgrade", nil, 200).Str("state"); len(built) > 0 || state != "none" {
		t.Errorf("built %v; the upgrade is %q", built, state)
	}
	if now := m.Hosts()["desk"]; now != host {
		t.Errorf("the session was %+v and is %+v", host, now)
	}
	finish(g)
}

// TestRestartFromATurn edits the source twice, as claude may, and restarts the gateway by its tool
// each time: the source's new program answers, and running turns go on. A command of claude builds nothing.
func TestRestartFromATurn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_LOG_FORMAT=text", harness.TrialVariable+"=1s")
	m.Env = append(m.Env, harness.GoEnv(t)...)
	m.Set("BARECLAW_SOURCE="+m.Path("source"), "GOFLAGS=-trimpath", "CGO_ENABLED=0") // most of it has been compiled
	copySource(t, m.Path("source"))
	g := goRun(m, t)
	inside := inTurn(g, "desk")
	finish := g.Task("desk")
	host := m.Hosts()["desk"]
	source := m.Path("source/internal/buildinfo/buildinfo.go")
	b, err := os.ReadFile(source)
	check.OK(t, err)
	for _, release := range []string{"v7.0.1", "v7.0.2"} {
		edited := strings.Replace(string(b), "var release string", `var release = "`+release+`"`, 1)
		check.OK(t, os.WriteFile(source, []byte(edited), 0o600))
		inside.Command(exitcode.Failed, "restart").Tells("builds the program")
		generation := g.Generation()
		restarting := g.Tell("tools", "mcp - restart_self {}")
		g.Restarted(generation)
		if text := g.Outcome(restarting).Str("text"); !strings.Contains(text, `"status":"restarting"`) {
			t.Errorf("restart_self answers %q", text)
		}
		if now := g.Must("GET", "/health", nil, 200).Str("version"); !strings.Contains(now, release) {
			t.Errorf("after the restart the version is %q, want %s", now, release)
		}
		g.Eventually("the program stays, and knows", func() bool { return g.Must("GET", "/upgrade", nil, 200).Str("state") == "confirmed" })
		if now := m.Hosts()["desk"]; now != host {
			t.Errorf("the session was %+v and is %+v", host, now)
		}
	}
	finish(g)
	g.Say("other", "echo hello").Want(t, "hello")
	g.Balanced()
}
