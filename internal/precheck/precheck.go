// Package precheck runs a user's command that says by its exit status whether there is
// anything to do.
package precheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Limit is how long a precheck may take: it only looks.
const Limit = time.Minute

// grace is how long its output may be held open by what it has left behind.
const grace = time.Second

// What sh ends with when it may not run a command, or does not find it.
const (
	statusNotRun   = 126
	statusNotFound = 127
)

// A Result is what a precheck said. There is something to do if Status is 0.
type Result struct {
	Status int    // of the command
	Said   string // the last line that it printed
}

// Run runs a line of sh in a directory with an environment. It blocks until the
// command has ended, at most for limit. The error is one of running it, that a
// signal has ended it, or that it took too long: then all of its process group is ended.
func Run(ctx context.Context, line, dir string, environ []string, limit time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = dir, environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	out := &tail{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	r := Result{Said: out.line()}
	exit, ended := errors.AsType[*exec.ExitError](err)
	if ended {
		r.Status = exit.ExitCode()
	}
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("run the precheck: %w", context.Cause(ctx))
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return r, nil
	case !ended:
		return r, fmt.Errorf("run the precheck: %w", err)
	case r.Status < 0, r.Status == statusNotRun, r.Status == statusNotFound:
		return r, fmt.Errorf("run the precheck: %w %s", err, r.Said)
	}
	return r, nil
}

// A tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write takes up what is printed.
func (t *tail) Write(p []byte) (int, error) {
	const kept = 4 << 10
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-kept):]
	return len(p), nil
}

// line returns the last line.
func (t *tail) line() string {
	b := bytes.TrimSpace(t.b)
	return strings.ToValidUTF8(string(bytes.TrimSpace(b[bytes.LastIndexByte(b, '\n')+1:])), "\uFFFD")
}
