package security

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// nobody is a user without rights.
const nobody = "65534"

// asNobody returns the command that runs a program as the user nobody.
func asNobody(t testing.TB) []string {
	t.Helper()
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "what an ordinary user's own processes can read: only root can become that user")
	}
	path, err := exec.LookPath("setpriv")
	if err != nil {
		roottest.Unavailable(t, "what an ordinary user's own processes can read: %v", err)
	}
	return []string{path, "--reuid", nobody, "--regid", nobody, "--clear-groups"}
}

// TestEnvironmentAndMemory runs a gateway as an ordinary user. A process of that user, as claude's
// commands are, reads neither the environment of supervisor and daemon, in which the tokens are,
// nor their memory or open files: not after a restart, and not when the supervisor has replaced
// its own program. The gateway itself lacks nothing.
func TestEnvironmentAndMemory(t *testing.T) {
	t.Parallel()
	wrap := asNobody(t)
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Program = m.Path("bin/bareclaw")
	harness.CopyProgram(t, harness.Bareclaw(t), m.Program)
	harness.CopyProgram(t, harness.FakeClaude(t), m.Path("bin/claude"))
	m.Set("BARECLAW_CLAUDE=" + m.Path("bin/claude"))
	check.OK(t, exec.Command("chown", "-R", nobody+":"+nobody, m.Dir).Run())
	as := func(args ...string) (string, error) {
		cmd := exec.Command(wrap[0], append(wrap[1:len(wrap):len(wrap)], args...)...)
		cmd.Env, cmd.Dir = m.Env, m.Path("work")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	g := m.Start(wrap...).Bearer()
	g.Say("http", "hello").Want(t, "ok: hello")
	closed := func(when string) {
		t.Helper()
		for _, pid := range []int{g.Cmd.Process.Pid, m.Worker()} {
			proc := "/proc/" + strconv.Itoa(pid)
			environ, err := os.ReadFile(proc + "/environ") // as root
			check.OK(t, err)
			if !bytes.Contains(environ, []byte(harness.Token)) {
				t.Fatalf("%s: the environment of %s has no token, so that the test shows nothing", when, proc)
			}
			for _, command := range []string{"cat %s/environ", "head -c1 %s/mem", "ls %s/fd/", "cat %s/maps"} {
				command = fmt.Sprintf(command, proc)
				if out, err := as("sh", "-c", command); err == nil || !strings.Contains(out, "Permission denied") {
					t.Errorf("%s: %s: %v, %.100q", when, command, err, out)
				}
			}
		}
		if out, err := as("cat", fmt.Sprintf("/proc/%d/environ", m.Hosts()["http"].PID)); err != nil || strings.Contains(out, harness.Token) {
			t.Errorf("%s: of a host, whose environment has no secret, that user reads %q, %v", when, out, err)
		}
	}
	closed("at the start")
	g.Restart()
	closed("after a restart")

	next := m.Path("bin/next")
	harness.CopyProgram(t, m.Program, next)
	check.OK(t, exec.Command("chown", nobody+":"+nobody, next).Run())
	check.OK(t, os.Rename(next, m.Program))
	g.Restart()
	g.Eventually("the supervisor has replaced its program", func() bool {
		runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", g.Cmd.Process.Pid))
		now, errNow := os.Stat(m.Program)
		return err == nil && errNow == nil && os.SameFile(runs, now)
	})
	g.Eventually("the supervisor is closed again", func() bool {
		_, err := as("cat", fmt.Sprintf("/proc/%d/environ", g.Cmd.Process.Pid))
		return err != nil
	})
	closed("after an exec")

	g.Say("http", "again").Want(t, "ok: again")
	if n := g.Metrics()["process_open_fds"]; n < 5 {
		t.Errorf("the daemon counts %v open files of its own", n)
	}
	for _, command := range []string{"status", "doctor --no-turn --offline", "stop --sessions"} {
		if out, err := as(append([]string{m.Program}, strings.Fields(command)...)...); err != nil {
			t.Errorf("bareclaw %s: %v\n%s", command, err, out)
		}
	}
	<-g.Done
	if left, _ := filepath.Glob(m.Path("state/hosts/*.json")); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
}
