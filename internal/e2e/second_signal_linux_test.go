package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSecondSignal tells a daemon to end whose disk keeps it from that, and then once more: it
// ends without waiting, as after a crash, and the next one takes up what there was.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][2]syscall.Signal{
		"SIGTERM twice": {syscall.SIGTERM, syscall.SIGTERM}, "SIGINT twice": {syscall.SIGINT, syscall.SIGINT},
		"SIGTERM, SIGINT": {syscall.SIGTERM, syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			g.say("http", "echo hello").want(t, "hello")
			id := g.tell("http", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			disk := m.trace(g.cmd.Process.Pid, "fdatasync,fsync"+hold60)
			if err := g.cmd.Process.Signal(signals[0]); err != nil {
				t.Fatal(err)
			}
			m.eventually("it is ending", func() bool { return strings.Contains(m.log.String(), `"msg":"told to end"`) })
			if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil { // which is no second one
				t.Fatal(err)
			}
			select {
			case <-g.done:
				t.Fatal("it has ended, and its disk has not answered yet")
			default:
			}
			if err := g.cmd.Process.Signal(signals[1]); err != nil {
				t.Fatal(err)
			}
			m.eventually("no thread is left but one that waits for the disk", func() bool { return threads(g.cmd.Process.Pid) <= 1 })
			disk.detach() // it may keep the process from being seen as ended
			g.waitEnd()
			if code := g.cmd.ProcessState.ExitCode(); code != exitFailure {
				t.Errorf("exit status %d, want %d", code, exitFailure)
			}
			if _, ended := m.ended(); ended {
				t.Error("it has waited for its disk")
			}
			g = m.start()
			m.touch("go")
			if a := g.outcome(id); signals[0] == syscall.SIGTERM {
				a.want(t, "waited for "+m.path("go"))
			}
			g.balanced()
		})
	}
}

// threads counts the threads of a process that have not ended.
func threads(pid int) (n int) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none when it has ended
	for _, path := range all {
		b, err := os.ReadFile(path)
		if _, after, ok := strings.Cut(string(b), ") "); err == nil && ok && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X") {
			n++
		}
	}
	return n
}
