package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// needStrace skips the test, saying so, where there is no strace. In CI there
// must be.
func needStrace(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err == nil {
		return
	}
	if os.Getenv("BARECLAW_REQUIRE_CLAUDE") == "1" {
		t.Fatal("strace is missing; it must be there in CI")
	}
	t.Skip("NOT TESTED: faults at a chosen system call: strace is missing")
}

// A tracer is an strace that meddles with the system calls of one process.
type tracer struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// trace attaches strace to all threads of a running process, present and future
// ones, but not to the programs that it starts. The injection is strace's
// -e inject=; each thread counts its calls by itself. More are further arguments.
func (m *machine) trace(pid int, inject string, more ...string) *tracer {
	m.t.Helper()
	needStrace(m.t)
	calls, _, _ := strings.Cut(inject, ":")
	tr := &tracer{t: m.t, done: make(chan struct{})}
	args := append([]string{"-f", "-b", "execve", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + inject, "-p", strconv.Itoa(pid)}, more...)
	tr.cmd = exec.Command("strace", args...)
	stderr, err := tr.cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := tr.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	attached := make(chan string, 1)
	go func() { // ends with strace
		defer close(tr.done)
		said := ""
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if said += lines.Text() + "\n"; strings.Contains(lines.Text(), " attached") {
				select {
				case attached <- "":
				default: // a thread that was started since
				}
			}
		}
		_ = tr.cmd.Wait() // it ends as the traced process did
		select {
		case attached <- said:
		default:
		}
	}()
	m.t.Cleanup(tr.detach)
	select {
	case said := <-attached:
		if said != "" {
			m.t.Fatalf("strace -p %d: %s", pid, said)
		}
	case <-time.After(patience):
		m.t.Fatalf("strace did not attach to process %d", pid)
	}
	return tr
}

// detach lets go of the process and returns when nothing is meddled with any
// more. It does not ask strace to: that may wait for ever for a thread of a
// process that was killed.
func (tr *tracer) detach() {
	_ = tr.cmd.Process.Kill() // the kernel then lets go of what was traced
	<-tr.done
}
