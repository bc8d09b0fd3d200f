// Package precheck runs a user's command whose exit status decides whether a job has
// anything to do.
package precheck

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"bareclaw/internal/proc"
)

// Limit is how long a precheck may take.
const Limit = time.Minute

// grace is how long processes left behind may hold the output open.
const grace = time.Second

// Exit statuses of sh for a command without permission to execute, and for a missing command.
const (
	statusNotRun   = 126
	statusNotFound = 127
)

// A Result is the outcome of a precheck. The job has something to do if Status is 0.
type Result struct {
	Status int    // of the command
	Said   string // the last printed line
}

// Run runs a command line of sh in a directory with an environment, for at most limit. Run
// returns an error if the command cannot run, dies of a signal or takes too long; then its
// whole process group is ended.
func Run(ctx context.Context, line, dir string, environ []string, limit time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = dir, environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	out := &proc.Tail{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	r := Result{Said: out.LastLine()}
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
