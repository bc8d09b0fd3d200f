package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// firstRun are those that TestReadmeFirstRun runs.
var firstRun = []string{"go run .", `curl -X POST localhost:3000/message -H 'Content-Type: application/json' -d '{"text":"hello"}'`}

// TestReadmeFirstRun runs the first commands of the README, as a person would
// who has Go and no claude.
func TestReadmeFirstRun(t *testing.T) {
	t.Parallel()
	needCurl(t)
	examples := examplesOf(t, "README.md")
	if len(examples) < 2 || examples[0].name() != firstRun[0] || examples[1].name() != firstRun[1] {
		t.Fatalf("the README does not begin with %q", firstRun)
	}
	m := newMachine(t, "BARECLAW_LOG_FORMAT=text")
	m.env = append(m.env, "BARECLAW_CLAUDE="+m.path("no-claude"))
	m.env = append(m.env, goEnv(t)...)
	compiled(t, ".", m.env)
	args := strings.Fields(examples[0].command)
	cmd := exec.Command(args[0], args[1:]...) // in this directory, which is the one of the README
	cmd.Env, cmd.SysProcAttr = m.env, &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.log.String()) })
	examples[1].run(m, ready.FindStringSubmatch(m.log.String())[1])

	if len(m.hosts()) != 1 {
		t.Errorf("hosts are %v, want one", m.hosts())
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does on Ctrl-C
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("go run . does not end on Ctrl-C")
	}
	if log := m.log.String(); strings.Contains(log, "exit status") { // go's own status says nothing after Ctrl-C
		t.Error("the daemon ended with an error after Ctrl-C")
	}
	if hosts := m.hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after Ctrl-C: %v", hosts)
	}
}

// goEnv is what go needs to work as it does outside of the isolated home.
func goEnv(t *testing.T) []string {
	t.Helper()
	names := []string{"GOENV", "GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	values := strings.Split(string(out), "\n")
	for i, name := range names {
		names[i] = name + "=" + values[i]
	}
	return names
}
