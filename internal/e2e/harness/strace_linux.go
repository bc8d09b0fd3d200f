package harness

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// NeedStrace skips the test, saying so, where there is no strace. In CI there
// must be.
func NeedStrace(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err == nil {
		return
	}
	if os.Getenv("BARECLAW_REQUIRE_CLAUDE") == "1" {
		t.Fatal("strace is missing; it must be there in CI")
	}
	t.Skip("NOT TESTED: faults at a chosen system call: strace is missing")
}

// A Tracer is an strace that meddles with the system calls of one process.
type Tracer struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Trace attaches strace to all threads of a running process, present and future
// ones, but not to the programs that it starts. The injection is strace's
// -e inject=; each thread counts its calls by itself. More are further arguments.
func (m *Machine) Trace(pid int, inject string, more ...string) *Tracer {
	m.T.Helper()
	NeedStrace(m.T)
	calls, _, _ := strings.Cut(inject, ":")
	tr := &Tracer{t: m.T, done: make(chan struct{})}
	args := append([]string{"-f", "-b", "execve", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + inject, "-p", strconv.Itoa(pid)}, more...)
	tr.cmd = exec.Command("strace", args...)
	stderr, err := tr.cmd.StderrPipe()
	check.OK(m.T, err)
	check.OK(m.T, tr.cmd.Start())
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
	m.T.Cleanup(tr.Detach)
	select {
	case said := <-attached:
		if said != "" {
			m.T.Fatalf("strace -p %d: %s", pid, said)
		}
	case <-time.After(Patience):
		m.T.Fatalf("strace did not attach to process %d", pid)
	}
	return tr
}

// Detach lets go of the process and returns when nothing is meddled with any
// more. It does not ask strace to: that may wait for ever for a thread of a
// process that was killed.
func (tr *Tracer) Detach() {
	_ = tr.cmd.Process.Kill() // the kernel then lets go of what was traced
	<-tr.done
}

// HostSockets returns what has strace look at nothing but the daemon's connections to
// session hosts: those of its Unix sockets that have no name.
func (m *Machine) HostSockets(daemon int) (all []string) {
	m.T.Helper()
	list, err := os.ReadFile("/proc/net/unix")
	check.OK(m.T, err)
	nameless := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if words := strings.Fields(line); len(words) == 7 {
			nameless["socket:["+words[6]+"]"] = true
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && nameless[to] {
			all = append(all, "-P", to)
		}
	}
	if len(all) == 0 {
		m.T.Fatal("the daemon has no connection to a host")
	}
	return all
}

// Hold60 has a system call take a minute.
const Hold60 = ":delay_enter=60000000"
