// Package proc watches and signals processes that may not be our children,
// without ever mistaking a stranger for one of them.
//
// A process is named by its id and its start time: the id alone is given to
// somebody else once the process is gone. Both only mean something within one
// boot, so whoever keeps them in a file keeps [BootID] with them. A process
// that has exited but was not yet waited for (a zombie) counts as gone.
//
// On Linux the kernel's process handles (pidfd_open(2), since Linux 5.3) close
// the gap between looking and acting. On macOS, and on a Linux that lacks or
// forbids them, a process is looked at just before it is signalled.
//
// All functions are safe for concurrent use.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A Process names one process within one boot.
type Process struct {
	PID   int
	Start uint64 // its start time, as StartTime gives it
}

// pollInterval is how often WaitGone looks where the kernel cannot notify it.
const pollInterval = 20 * time.Millisecond

// StartTime returns when a process started, in a unit of the system's own
// (clock ticks since boot on Linux, microseconds since 1970 on macOS): only
// good to be compared. The error is [os.ErrProcessDone] if there is no such
// process or it has exited.
func StartTime(pid int) (uint64, error) {
	if err := checkPID(pid); err != nil {
		return 0, err
	}
	start, err := startTime(pid)
	if err != nil {
		return 0, fmt.Errorf("start time of process %d: %w", pid, err)
	}
	return start, nil
}

// Alive reports whether the process with that id and start time runs. Where
// the system does not tell, for want of file descriptors say, it is true: a
// second process beside a living one does more harm than waiting.
func Alive(pid int, start uint64) bool {
	return checkPID(pid) == nil && !errors.Is(verify(pid, start), os.ErrProcessDone)
}

// Signal sends sig to the process with that id and start time, and to no
// other. The error is [os.ErrProcessDone] if it is gone, and
// [os.ErrPermission] if it is another user's.
func Signal(pid int, start uint64, sig syscall.Signal) error {
	if err := checkPID(pid); err != nil {
		return err
	}
	if err := signal(pid, start, sig); err != nil {
		return fmt.Errorf("signal %q to process %d: %w", sig, pid, done(err))
	}
	return nil
}

// WaitGone blocks until the process with that id and start time has exited; it
// need not be a child. It returns nil at once if it is gone already, and the
// cause of ctx if that ends first.
func WaitGone(ctx context.Context, pid int, start uint64) error {
	if err := checkPID(pid); err != nil {
		return err
	}
	if err := waitGone(ctx, pid, start); err != nil {
		return fmt.Errorf("wait for the end of process %d: %w", pid, err)
	}
	return nil
}

// checkPID refuses what kill(2) takes for a group of processes or for all.
func checkPID(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("%d is not a process id", pid)
	}
	return nil
}

// verify returns nil if pid runs and started at start, and os.ErrProcessDone
// if not.
func verify(pid int, start uint64) error {
	got, err := startTime(pid)
	if err == nil && got != start {
		return os.ErrProcessDone
	}
	return err
}

// signalByID is Signal for systems without process handles.
func signalByID(pid int, start uint64, sig syscall.Signal) error {
	if err := verify(pid, start); err != nil {
		return err
	}
	return syscall.Kill(pid, sig)
}

// waitByPolling is WaitGone for systems without process handles.
func waitByPolling(ctx context.Context, pid int, start uint64) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := verify(pid, start)
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// done turns the system's word for "no such process" into Go's.
func done(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
