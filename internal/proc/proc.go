// Package proc watches and signals processes that need not be children, and never mistakes
// another process with a reused id for the right process.
//
// A process is identified by its id and its start time, because the id is reused. Both are
// valid within one boot, so files keep [BootID] beside them. An exited process that was
// not waited for (a zombie) counts as gone.
//
// On Linux process handles (pidfd_open(2), since Linux 5.3) close the gap between looking
// and acting. On macOS, and on a Linux without handles, a process is checked just before
// the signal.
//
// All functions are safe for concurrent use.
package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/wait"

	"golang.org/x/sys/unix"
)

// A Process identifies a process within one boot.
type Process struct {
	PID   int
	Start uint64 // its start time, as StartTime gives it
}

// ByEnviron returns the processes of this user whose initial environment has a variable
// with an accepted value, by their ids. It does what [EnvironValues] does, and fails as that does.
func ByEnviron(name string, accept func(value string) bool) ([]Process, error) {
	values, err := EnvironValues(name)
	if err != nil {
		return nil, err
	}
	var found []Process
	for p, value := range values {
		if accept(value) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return found, nil
}

// pollInterval is the time between two looks of WaitGone without notifications of the
// kernel.
const pollInterval = 20 * time.Millisecond

// StartTime returns the start time of a process in a unit of the system (clock ticks since
// boot on Linux, microseconds since 1970 on macOS), good only for comparison. The error is
// [os.ErrProcessDone] if the process is gone.
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

// Alive reports whether the process with an id and start time runs. If the system does not
// answer, for example without free file descriptors, Alive reports true: waiting does less
// harm than a second process beside a living one.
func Alive(pid int, start uint64) bool {
	return checkPID(pid) == nil && !errors.Is(verify(pid, start), os.ErrProcessDone)
}

// Signal signals exactly the process with an id and start time. The error is
// [os.ErrProcessDone] if the process is gone, and [os.ErrPermission] if another user owns
// the process.
func Signal(pid int, start uint64, sig syscall.Signal) error {
	if err := checkPID(pid); err != nil {
		return err
	}
	p, err := find(pid, start)
	if err == nil {
		err = p.Signal(sig)
		_ = p.Release()
	}
	if err != nil {
		return fmt.Errorf("signal %q to process %d: %w", sig, pid, err)
	}
	return nil
}

// WaitGone blocks until the process with an id and start time has exited, or returns the
// cause of ctx. The process need not be a child.
func WaitGone(ctx context.Context, pid int, start uint64) error {
	if err := checkPID(pid); err != nil {
		return err
	}
	if err := waitGone(ctx, pid, start); err != nil {
		return fmt.Errorf("wait for the end of process %d: %w", pid, err)
	}
	return nil
}

// checkPID refuses numbers that kill(2) takes for process groups.
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

// find returns the process with an id and start time. On Linux the result has a handle, if
// kernel and container permit. An open handle stays with the process, so a check of the start
// time after opening is enough.
func find(pid int, start uint64) (*os.Process, error) {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = verify(pid, start)
	}
	if err != nil && p != nil {
		_ = p.Release()
	}
	return p, err
}

// waitByPolling is WaitGone for systems without process handles.
func waitByPolling(ctx context.Context, pid int, start uint64) error {
	return wait.Poll(ctx, pollInterval, func() (bool, error) {
		err := verify(pid, start)
		if errors.Is(err, os.ErrProcessDone) {
			return true, nil
		}
		return false, err
	})
}

// A Tail keeps the last bytes that a process prints, however much comes.
type Tail struct{ buf []byte }

const tailBytes = 4 << 10

// Write appends output.
func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-tailBytes):]...)
	return len(p), nil
}

// String returns the kept bytes as valid text without space around it.
func (t *Tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "\uFFFD"))
}

// LastLine returns the last line of the text.
func (t *Tail) LastLine() string {
	s := t.String()
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// AwaitInput blocks until a read from the connection would not wait: for input, the end of
// input or an error. It returns os.ErrDeadlineExceeded at the read deadline, and
// net.ErrClosed or os.ErrClosed when the connection is closed. The goroutine occupies no
// thread. The connection must be one that the runtime polls.
func AwaitInput(conn syscall.RawConn) error {
	var pollErr error
	err := conn.Read(func(fd uintptr) bool {
		var n int
		n, pollErr = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if errors.Is(pollErr, unix.EINTR) {
			pollErr = nil
		}
		return n > 0 || pollErr != nil
	})
	return errors.Join(err, pollErr)
}
