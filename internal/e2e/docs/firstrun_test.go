package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// firstRun are those that TestReadmeFirstRun runs.
var firstRun = []string{"go run .", `curl -X POST localhost:3000/message -H 'Content-Type: application/json' -d '{"text":"hello"}'`}

// TestReadmeFirstRun runs the first commands of the README, as a person would
// who has Go and no claude.
func TestReadmeFirstRun(t *testing.T) {
	t.Parallel()
	harness.NeedCurl(t)
	examples := examplesOf(t, "README.md")
	if len(examples) < 2 || examples[0].name() != firstRun[0] || examples[1].name() != firstRun[1] {
		t.Fatalf("the README does not begin with %q", firstRun)
	}
	m := harness.NewMachine(t, "BARECLAW_LOG_FORMAT=text")
	m.Env = append(m.Env, "BARECLAW_CLAUDE="+m.Path("no-claude"))
	m.Env = append(m.Env, harness.GoEnv(t)...)
	harness.Compiled(t, ".", m.Env)
	args := strings.Fields(examples[0].command)
	cmd := exec.Command(args[0], args[1:]...) // in this directory, which is the one of the README
	cmd.Env, cmd.SysProcAttr = m.Env, &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = m.Log
	check.OK(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.Eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.Log.String()) })
	examples[1].run(m, ready.FindStringSubmatch(m.Log.String())[1])

	if len(m.Hosts()) != 1 {
		t.Errorf("hosts are %v, want one", m.Hosts())
	}
	check.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) // as a terminal does on Ctrl-C
	select {
	case <-ended:
	case <-time.After(harness.Patience):
		t.Fatal("go run . does not end on Ctrl-C")
	}
	if log := m.Log.String(); strings.Contains(log, "exit status") { // go's own status says nothing after Ctrl-C
		t.Error("the daemon ended with an error after Ctrl-C")
	}
	if hosts := m.Hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after Ctrl-C: %v", hosts)
	}
}
