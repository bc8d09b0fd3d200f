package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BootID returns an identifier that is new after every boot of the machine.
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// startTime returns the start time of a running process, or os.ErrProcessDone. While
// another thread executes a program, the first thread is a zombie although the process
// lives: a process has ended if a zombie is its only thread. A stat without threads is of
// one that is being replaced or released, and is read again.
func startTime(pid int) (uint64, error) {
	const tries = 1000
	for range tries {
		s, err := statOf(pid)
		if err != nil || !s.zombie || s.threads > 1 {
			return s.start, err
		}
		if s.threads == 1 {
			break
		}
	}
	return 0, os.ErrProcessDone
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// A stat is what /proc/PID/stat says: proc_pid_stat(5).
type stat struct {
	zombie  bool // the first thread has ended
	threads int
	start   uint64
}

func statOf(pid int) (stat, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return stat{}, os.ErrProcessDone
	}
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the third, 20th and 22nd field. The second field, a name in
// parentheses, may hold spaces and parentheses, so parseStat counts from the last one.
func parseStat(b []byte) (s stat, err error) {
	_, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return s, errors.New("its stat file is too short")
	}
	threads, errThreads := strconv.Atoi(fields[17])
	start, errStart := strconv.ParseUint(fields[19], 10, 64)
	if err := errors.Join(errThreads, errStart); err != nil {
		return s, fmt.Errorf("its stat file: %w", err)
	}
	return stat{zombie: fields[0] == "Z" || fields[0] == "X", threads: threads, start: start}, nil
}

func waitGone(ctx context.Context, pid int, start uint64) error {
	p, err := find(pid, start)
	if err == nil {
		defer func() { _ = p.Release() }()
		var handle int
		if handle, err = handleOf(p); err == nil {
			return waitReadable(ctx, handle)
		}
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return waitByPolling(ctx, pid, start)
}

// AwaitExit blocks until a child has exited, and leaves the exit status to os.Process.Wait.
// Unlike Wait, AwaitExit occupies no thread, except without pidfds in the kernel or the
// container.
func AwaitExit(child *os.Process) {
	handle, err := handleOf(child)
	if err == nil && waitReadable(context.Background(), handle) != nil { // Wait is to block, on a pidfd with the same flags
		_ = child.WithHandle(func(fd uintptr) { _ = unix.SetNonblock(int(fd), false) })
	}
	for errors.Is(unix.Waitid(unix.P_PID, child.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
}

func handleOf(p *os.Process) (handle int, err error) {
	noHandle := p.WithHandle(func(fd uintptr) { handle, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return handle, cmp.Or(noHandle, err)
}

// waitReadable parks the goroutine until the pidfd reports the exit of the process by
// becoming readable, or ctx ends. It closes the pidfd.
func waitReadable(ctx context.Context, pidfd int) error {
	if err := unix.SetNonblock(pidfd, true); err != nil { // for the runtime's poller
		_ = unix.Close(pidfd)
		return fmt.Errorf("make its handle pollable: %w", err)
	}
	handle := os.NewFile(uintptr(pidfd), "pidfd")
	defer func() { _ = handle.Close() }()
	conn, err := handle.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = handle.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = AwaitInput(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// EnvironValues returns the values of a variable in the initial environments of the processes of this user
// that have it. Ended and unreadable processes (set-uid programs) are left out. EnvironValues reads one file
// for each process of the user.
func EnvironValues(name string) (map[Process]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	prefix := []byte(name + "=")
	values := map[Process]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !ours(pid) {
			continue
		}
		value, ok := environ(pid, prefix)
		if !ok {
			continue
		}
		start, err := startTime(pid)
		if err != nil {
			continue
		}
		// Looked at again, because the id may have changed hands before the
		// start time was read.
		if again, ok := environ(pid, prefix); ok && again == value {
			values[Process{PID: pid, Start: start}] = value
		}
	}
	return values, nil
}

func ours(pid int) bool {
	info, err := os.Stat(procFile(pid, ""))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func environ(pid int, prefix []byte) (value string, ok bool) {
	all, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(all, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, prefix); ok {
			return string(value), true
		}
	}
	return "", false
}
