package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/procs"
)

// TestRestartAsFirstProcess restarts a gateway that is process 1, as in a
// container: were it to end, everything would.
func TestRestartAsFirstProcess(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: process 1: unshare: %v: %s", err, out)
	}
	m := newMachine(t)
	g := m.start(wrap...)
	if pid := g.must("GET", "/health", nil, 200).number("pid"); pid != 1 {
		t.Fatalf("the gateway is process %v", pid)
	}
	claude := g.say("http", "pid").str("text")
	for range 2 {
		generation := g.generation()
		g.must("POST", "/restart", nil, 200)
		g.restarted(generation)
		if now := g.say("http", "pid").str("text"); now != claude {
			t.Errorf("claude was %s and is %s", claude, now)
		}
	}
	g.balanced()
	children, err := os.ReadFile("/proc/" + strconv.Itoa(g.cmd.Process.Pid) + "/task/" + strconv.Itoa(g.cmd.Process.Pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatalf("children of unshare: %q", children)
	}
	if err := syscall.Kill(first, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	g.waitEnd()
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit status %d, want %d", code, exitOK)
	}
}

// TestStartedFromWithinASession runs the gateway as claude's Bash would: it bears
// no mark of that session, and so does not end with it.
func TestStartedFromWithinASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_SESSION=0123456789abcdef.4711.1")
	g := m.start()
	env, err := os.ReadFile("/proc/" + strconv.Itoa(g.cmd.Process.Pid) + "/environ")
	if err != nil || strings.Contains(string(env), "BARECLAW_SESSION=") || !strings.Contains(string(env), "BARECLAW_CWD=") {
		t.Errorf("its environment is %q (%v)", env, err)
	}
	g.say("http", "echo hello").want(t, "hello")
}

// TestEndWhileAnotherTakesOver asks for the end while the second process hands over
// to the third: the first one, which is asked, knows the second only.
func TestEndWhileAnotherTakesOver(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	begun := strings.Count(m.log.String(), "handing over")
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	m.eventually("the second hands over", func() bool { return strings.Count(m.log.String(), "handing over") > begun })
	g.signal(syscall.SIGTERM)
	if h := m.lockFile(); procs.Alive(h.PID, h.Start) {
		t.Error("the daemon outlives the process that was started")
	}
}

// TestEndDuringARestart asks for a restart and for the end at nearly the same time:
// it ends, and nothing takes over when it has.
func TestEndDuringARestart(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for range 4 {
			m := newMachine(t)
			g := m.start()
			if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			g.signal(sig)
			m.eventually("no process of it is left", func() bool {
				left, err := procs.ByEnviron("BARECLAW_STATE_DIR", func(v string) bool { return v == m.path("state") })
				return err == nil && len(left) == 0
			})
		}
	}
}
