package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/check"
	childkit "bareclaw/internal/testkit/child"
)

// child starts a shell that prints a line when it runs and then reads its
// standard input, so that it ends at the latest with the test.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "echo ready; read line")
	cmd.Env = append(os.Environ(), env...)
	childkit.Start(t, cmd)
	return cmd
}

func started(t *testing.T, cmd *exec.Cmd) Process {
	t.Helper()
	start, err := StartTime(cmd.Process.Pid)
	check.OK(t, err)
	return Process{PID: cmd.Process.Pid, Start: start}
}

func TestLife(t *testing.T) {
	t.Parallel()
	cmd := child(t)
	p := started(t, cmd)
	if again, err := StartTime(p.PID); err != nil || again != p.Start {
		t.Errorf("StartTime = %d, then %d, %v", p.Start, again, err)
	}
	if !Alive(p.PID, p.Start) {
		t.Error("a running child is not alive")
	}
	if Alive(p.PID, p.Start+1) {
		t.Error("alive under another start time")
	}
	if err := Signal(p.PID, p.Start+1, syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to another start time: %v, want %v", err, os.ErrProcessDone)
	}
	if err := Signal(p.PID, p.Start, 0); err != nil {
		t.Errorf("the child does not get signals, or got one for another: %v", err)
	}

	check.OK(t, Signal(p.PID, p.Start, syscall.SIGTERM))
	check.OK(t, WaitGone(t.Context(), p.PID, p.Start))
	// Nobody has waited for it: it is a zombie now, which is gone for us.
	gone(t, p)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the child ended with %v, want SIGTERM", err)
	}
	gone(t, p)
}

// gone checks that everything agrees on p having exited.
func gone(t *testing.T, p Process) {
	t.Helper()
	if Alive(p.PID, p.Start) {
		t.Error("alive after its end")
	}
	if _, err := StartTime(p.PID); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("start time after its end: %v, want %v", err, os.ErrProcessDone)
	}
	if err := Signal(p.PID, p.Start, syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after its end: %v, want %v", err, os.ErrProcessDone)
	}
	if err := WaitGone(t.Context(), p.PID, p.Start); err != nil {
		t.Errorf("wait after its end: %v", err)
	}
}

// waits are both ways to wait, so that the one for systems without process
// handles is tested everywhere.
func waits() map[string]func(context.Context, int, uint64) error {
	return map[string]func(context.Context, int, uint64) error{"system": WaitGone, "polling": waitByPolling}
}

func TestWaitGoneReturnsWithTheProcess(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := started(t, child(t))
			result := make(chan error, 1)
			go func() { result <- wait(t.Context(), p.PID, p.Start) }()
			select {
			case err := <-result:
				t.Fatalf("returned %v while the process ran", err)
			default:
			}
			check.OK(t, syscall.Kill(p.PID, syscall.SIGKILL))
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitGoneObeysContext(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := started(t, child(t))
			why := errors.New("changed my mind")
			ctx, cancel := context.WithCancelCause(t.Context())
			result := make(chan error, 1)
			go func() { result <- wait(ctx, p.PID, p.Start) }()
			cancel(why)
			if err := <-result; !errors.Is(err, why) {
				t.Errorf("wait = %v, want the context's cause", err)
			}
			if !Alive(p.PID, p.Start) {
				t.Error("waiting ended the process")
			}
		})
	}
}

// TestNoProcess has the ids that kill(2) takes for many processes at once.
func TestNoProcess(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, -1, -os.Getpid()} {
		if _, err := StartTime(pid); err == nil {
			t.Errorf("process %d has a start time", pid)
		}
		if Alive(pid, 0) {
			t.Errorf("process %d is alive", pid)
		}
		if err := Signal(pid, 0, 0); err == nil {
			t.Errorf("process %d takes signals", pid)
		}
		if err := WaitGone(t.Context(), pid, 0); err == nil {
			t.Errorf("process %d can be waited for", pid)
		}
	}
}

// TestTail: a Tail keeps the end, in bounded memory.
func TestTail(t *testing.T) {
	t.Parallel()
	var small, large Tail
	for _, part := range []string{"one\n", "", "two\xff\n"} {
		if n, err := small.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
	}
	if got := small.LastLine(); got != "two\uFFFD" {
		t.Errorf("the last line is %q", got)
	}
	if got := small.String(); got != "one\ntwo\uFFFD" {
		t.Errorf("kept %q", got)
	}
	for i := range 100 {
		_, _ = large.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 1+i*37)))
	}
	_, _ = large.Write([]byte(strings.Repeat("-", 10*tailBytes) + "end"))
	if got := large.String(); len(got) != tailBytes || !strings.HasSuffix(got, "-end") {
		t.Errorf("kept %d bytes that end with %q", len(got), got[max(0, len(got)-5):])
	}
	if cap(large.buf) > 16*tailBytes {
		t.Errorf("%d bytes are held for it", cap(large.buf))
	}
}
