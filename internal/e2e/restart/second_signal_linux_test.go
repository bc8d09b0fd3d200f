package restart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
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
			m := harness.NewMachine(t)
			g := m.Start()
			g.Say("http", "echo hello").Want(t, "hello")
			id := g.Tell("http", "wait "+m.Path("go"))
			m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
			worker := m.Worker()
			disk := m.Trace(worker, "fdatasync,fsync"+harness.Hold60)
			check.OK(t, g.Cmd.Process.Signal(signals[0]))
			m.Eventually("it is ending", func() bool { return strings.Contains(m.Log.String(), `"msg":"told to end"`) })
			check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP)) // which is no second one
			select {
			case <-g.Done:
				t.Fatal("it has ended, and its disk has not answered yet")
			default:
			}
			check.OK(t, g.Cmd.Process.Signal(signals[1]))
			m.Eventually("no thread is left but one that waits for the disk", func() bool { return threads(worker) <= 1 })
			disk.Detach() // it may keep the process from being seen as ended
			g.WaitEnd()
			if code := g.Cmd.ProcessState.ExitCode(); code != harness.ExitFailure {
				t.Errorf("exit status %d, want %d", code, harness.ExitFailure)
			}
			if _, ended := m.Ended(); ended {
				t.Error("it has waited for its disk")
			}
			g = m.Start()
			m.Touch("go")
			if a := g.Outcome(id); signals[0] == syscall.SIGTERM {
				a.Want(t, "waited for "+m.Path("go"))
			}
			g.Balanced()
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
