package e2e

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
	"bareclaw/internal/exitcode"
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
	if err != nil {
		t.Fatal(err)
	}
}

// compiled has go compile a program, which may take long where nothing of it was before, so
// that to run it from its source does not.
func compiled(t *testing.T, dir string, env []string) {
	t.Helper()
	cmd := exec.Command("go", "run", ".", "version")
	cmd.Env, cmd.Dir = env, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run . version: %v\n%s", err, out)
	}
}

// goRun runs the gateway from its source, as the README says.
func (m *machine) goRun(t *testing.T) *gateway {
	t.Helper()
	compiled(t, m.path("source"), m.env)
	cmd := exec.Command("go", "run", ".")
	cmd.Env, cmd.Dir, cmd.SysProcAttr = m.env, m.path("source"), &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &gateway{machine: m, cmd: cmd, sock: m.path("run/api.sock"), done: make(chan struct{})}
	go func() {
		g.err = cmd.Wait()
		close(g.done)
	}()
	t.Cleanup(g.kill)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.log.String()) })
	g.http = newClient(t)
	g.base = ready.FindStringSubmatch(m.log.String())[1]

	return g
}

// TestRestartBuilds runs the gateway from its source, changes that while a turn
// runs, and restarts: what the source says now is what answers.
func TestRestartBuilds(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_LOG_FORMAT=text", "BARECLAW_AGENT=echo", "BARECLAW_SOURCE=")
	m.env = append(m.env, goEnv(t)...)
	copySource(t, m.path("source"))
	const first = "I am not Claude."
	says := func(old, now string) {
		t.Helper()
		path := m.path("source/internal/echoagent/reply.go")
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), old) {
			t.Fatalf("%s does not say %q (%v)", path, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, now, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := m.goRun(t)
	cmd := g.cmd
	restart := func(channel, want string) {
		t.Helper()
		generation := g.generation()
		g.must("POST", "/restart", nil, 200)
		g.restarted(generation)
		if text := g.say(channel, "hello").str("text"); !strings.Contains(text, want) {
			t.Errorf("after the restart it says %q, want %q", text, want)
		}
	}
	if text := g.say("one", "hello").str("text"); !strings.Contains(text, first) {
		t.Errorf("it says %q", text)
	}
	says(first, "I am the second.")
	restart("two", "I am the second.")
	says("I am the second.", "`I am broken.")
	if a := g.must("POST", "/restart", nil, 503); !strings.Contains(a.str("error"), "reply.go:") {
		t.Errorf("a source that cannot be compiled: %s", a.body)
	}
	if text := g.say("two", "hello").str("text"); !strings.Contains(text, "I am the second.") {
		t.Errorf("it says %q", text)
	}
	says("`I am broken.", "I am the third.")
	restart("three", "I am the third.")

	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does on Ctrl-C
		t.Fatal(err)
	}
	g.waitEnd()
	if hosts := m.hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after Ctrl-C: %v", hosts)
	}

	// What was built is installed, as docs/operations.md has it, where its state is in the usual place.
	m.write("home/.local/bin/bareclaw", "an older one", 0o755)
	if err := errors.Join(os.MkdirAll(m.path("home/.local/state"), 0o700), os.Symlink(m.path("state"), m.path("home/.local/state/bareclaw"))); err != nil {
		t.Fatal(err)
	}
	m.asPrinted(printed(t, "docs/operations.md", "install -m 755"))
	newer, err := program.Sum(m.path("state/bin/bareclaw"))
	if installed, failed := program.Sum(m.path("home/.local/bin/bareclaw")); err != nil || failed != nil || installed != newer {
		t.Errorf("installed was another program than was built: %v, %v", err, failed)
	}
}

// TestRestartFromATurn edits the source twice, as claude may, and restarts the gateway from
// inside of a turn each time: the source's new program answers, and the turn goes on.
func TestRestartFromATurn(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_LOG_FORMAT=text", "BARECLAW_SOURCE=")
	m.env = append(m.env, goEnv(t)...)
	copySource(t, m.path("source"))
	g := m.goRun(t)
	marker, socket := g.say("desk", "env BARECLAW_SESSION").str("text"), g.say("desk", "env "+client.SocketVariable).str("text")
	if marker == "" || socket == "" {
		t.Fatalf("claude has the session %q and the socket %q", marker, socket)
	}
	inside := *m
	inside.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), client.SocketVariable + "=" + socket, "BARECLAW_SESSION=" + marker}
	id := g.tell("desk", "wait "+m.path("go"))
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	host := m.hosts()["desk"]
	source := m.path("source/internal/buildinfo/buildinfo.go")
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{"v7.0.1", "v7.0.2"} {
		edited := strings.Replace(string(b), "var release string", `var release = "`+release+`"`, 1)
		if err := os.WriteFile(source, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		inside.command(exitcode.OK, "restart").shows("Restarted in ")
		if now := g.must("GET", "/health", nil, 200).str("version"); !strings.Contains(now, release) {
			t.Errorf("after the restart the version is %q, want %s", now, release)
		}
		if now := m.hosts()["desk"]; now != host {
			t.Errorf("the session was %+v and is %+v", host, now)
		}
	}
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	g.say("other", "echo hello").want(t, "hello")
	g.balanced()
}
