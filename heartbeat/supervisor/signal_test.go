package supervisor

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestEndOfAWorker sends workers the signals that end a gateway: a worker that does not serve yet
// gets none before it serves, and a second one kills it.
func TestEndOfAWorker(t *testing.T) {
	t.Parallel()
	const untouched = "signal: killed" // by the test
	for name, c := range map[string]struct {
		phase   phase
		signals []os.Signal
		ended   string
		pending os.Signal
		status  int
	}{
		"not prepared":     {preparing, []os.Signal{syscall.SIGINT}, untouched, syscall.SIGINT, exitcode.OK},
		"starting":         {starting, []os.Signal{syscall.SIGTERM}, untouched, syscall.SIGTERM, exitcode.OK},
		"starting, twice":  {starting, []os.Signal{syscall.SIGINT, syscall.SIGTERM}, "signal: killed", syscall.SIGINT, exitcode.OK},
		"serving":          {serving, []os.Signal{syscall.SIGTERM}, "signal: terminated", nil, exitcode.OK},
		"its stacks":       {preparing, []os.Signal{syscall.SIGQUIT}, "signal: quit", nil, 128 + int(syscall.SIGQUIT)},
		"has all released": {released, []os.Signal{syscall.SIGINT}, "signal: interrupt", nil, exitcode.OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("cat") // waits for its input
			_, err := cmd.StdinPipe()
			check.OK(t, err)
			check.OK(t, cmd.Start())
			w := &worker{process: cmd.Process, phase: c.phase}
			for _, sig := range c.signals {
				w.end(sig)
			}
			if c.ended == untouched {
				check.OK(t, cmd.Process.Kill())
			}
			_ = cmd.Wait() // a signal ends it
			if got := cmd.ProcessState.String(); got != c.ended && got != c.ended+" (core dumped)" {
				t.Errorf("the worker ended with %s, want %s", got, c.ended)
			}
			if status := w.exitStatus(cmd.ProcessState); w.pendingSignal != c.pending || status != c.status {
				t.Errorf("status %d and pending %v, want %d and %v", status, w.pendingSignal, c.status, c.pending)
			}
		})
	}
}
