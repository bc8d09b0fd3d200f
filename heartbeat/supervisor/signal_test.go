package supervisor

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
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
		"serving":          {serving, []os.Signal{syscall.SIGTERM}, "signal: terminated", syscall.SIGTERM, exitcode.OK},
		"serving, twice":   {serving, []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, "signal: killed", syscall.SIGTERM, exitcode.Failed},
		"its stacks":       {preparing, []os.Signal{syscall.SIGQUIT}, "signal: quit", nil, 128 + int(syscall.SIGQUIT)},
		"has all released": {released, []os.Signal{syscall.SIGINT}, "signal: interrupt", syscall.SIGINT, exitcode.OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("cat") // waits for its input
			if len(c.signals) > 1 {
				cmd = exec.Command("sh", "-c", "trap '' TERM; echo; cat") // only a SIGKILL ends it
			}
			_, err := cmd.StdinPipe()
			check.OK(t, err)
			said, err := cmd.StdoutPipe()
			check.OK(t, err)
			check.OK(t, cmd.Start())
			if len(c.signals) > 1 {
				_, err := said.Read(make([]byte, 1))
				check.OK(t, err)
			}
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
			if status := w.exitStatus(cmd.ProcessState); w.endSignal != c.pending || status != c.status {
				t.Errorf("status %d and pending %v, want %d and %v", status, w.endSignal, c.status, c.pending)
			}
		})
	}
}

// TestAfterAWorker ends the worker that serves, or was to serve: another one is started, the
// gateway ends, or a pause begins.
func TestAfterAWorker(t *testing.T) {
	t.Setenv(WrapVariable, "true") // workers do nothing
	const started, paused = "started", "paused"
	for name, c := range map[string]struct {
		status int // of the worker
		worker *worker
		asked  os.Signal
		served bool
		want   string // or the status of the gateway
	}{
		"it was told to end":                       {0, &worker{phase: serving, told: true}, syscall.SIGTERM, true, "0"},
		"it failed as it ended":                    {1, &worker{phase: serving, told: true}, syscall.SIGTERM, true, "1"},
		"it had not seen that sessions are to end": {1, &worker{phase: serving}, syscall.SIGINT, true, started},
		"the end was asked for before it served":   {1, &worker{phase: starting, endSignal: syscall.SIGTERM}, syscall.SIGTERM, true, "0"},
		"it never served":                          {2, &worker{phase: starting}, nil, false, "2"},
		"it never served, for want of room":        {1, &worker{phase: starting, failed: errors.New("the disk is full"), failedForNow: true}, nil, false, paused},
		"the first on trial says why":              {1, &worker{phase: preparing, trial: true, failed: errors.New("a wrong setting")}, nil, false, "1"},
		"the first on trial says nothing":          {1, &worker{phase: preparing, trial: true}, nil, false, started},
		"it crashed":                               {2, &worker{phase: serving}, nil, true, paused},
		"it failed while it took over":             {2, &worker{phase: starting, heir: true}, nil, true, started},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", "exit "+strconv.Itoa(c.status))
			_ = cmd.Run() // its status is looked at
			c.worker.process = cmd.Process
			s := &supervisor{
				Options: Options{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler), BeforeStart: func() {}},
				events:  make(chan event, 4), endSignal: c.asked, served: c.served,
			}
			s.afterCurrent(c.worker, cmd.ProcessState)
			got := ""
			switch {
			case s.current != nil:
				got = started
				if s.current.endSignal != c.asked {
					t.Errorf("the next worker gets %v, want %v", s.current.endSignal, c.asked)
				}
				for e := range s.events {
					if e.ended != nil {
						break
					}
				}
			case s.pause != nil:
				got = paused
			case s.done:
				got = strconv.Itoa(s.status)
			}
			if got != c.want {
				t.Errorf("after the worker: %q, want %q", got, c.want)
			}
		})
	}
}
