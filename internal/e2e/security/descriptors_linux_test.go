package security

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestStartersDescriptors starts a gateway from a shell that has a secret file open, for
// reading and for writing. No process of the gateway has it: not the supervisor, the daemon, the tool
// host, a session host or claude, and not after a restart.
func TestStartersDescriptors(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	secret := m.Write("secret", "hush", 0o600)
	g := m.Start("sh", "-c", `exec 3<"$0" 8>>"$0" 9<"$0"; exec "$@"`, secret)
	g.Say("http", "hello").Want(t, "ok: hello")
	look := func() {
		t.Helper()
		host, toolHost := m.Hosts()["http"], 0
		g.Eventually("the tool host runs", func() bool {
			toolHost = childOf(t, m.Worker(), "tool-host")
			return toolHost != 0
		})
		for _, pid := range []int{g.Cmd.Process.Pid, m.Worker(), toolHost, host.PID, host.ClaudePID} {
			open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			if err != nil || len(open) == 0 {
				t.Errorf("process %d has %v open, %v", pid, open, err)
			}
			for _, fd := range open {
				if to, err := os.Readlink(fd); err == nil && to == secret {
					line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					program, rest, _ := strings.Cut(string(line), "\x00")
					role, _, _ := strings.Cut(rest, "\x00")
					t.Errorf("%s is the secret, in %s %s", fd, program, role)
				}
			}
		}
	}
	look()
	g.Restart()
	g.Say("http", "again").Want(t, "ok: again")
	look()
}

// childOf returns the id of a process's child that was started with an argument, 0 if there is none.
func childOf(t testing.TB, pid int, argument string) (child int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	check.OK(t, err)
	for _, list := range lists {
		b, _ := os.ReadFile(list) // none if the thread has ended
		for _, word := range strings.Fields(string(b)) {
			line, _ := os.ReadFile("/proc/" + word + "/cmdline")
			if strings.Contains(string(line), "\x00"+argument+"\x00") {
				child, err = strconv.Atoi(word)
				check.OK(t, err)
			}
		}
	}
	return child
}
