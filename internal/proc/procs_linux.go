package proc

import (
	"bytes"
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
// lives. So a process has ended only if the zombie has no other threads, checked twice.
func startTime(pid int) (uint64, error) {
	start, err := statOf(pid)
	if !errors.Is(err, errZombie) {
		return start, err
	}
	threads, err := os.ReadDir(procDir(pid) + "/task")
	if err != nil && !noSuchProcess(err) {
		return 0, err
	}
	if len(threads) > 1 {
		return start, nil
	}
	if start, err = statOf(pid); errors.Is(err, errZombie) {
		return 0, os.ErrProcessDone
	}
	return start, err
}

// statOf reads the start time of a process, also together with errZombie.
func statOf(pid int) (uint64, error) {
	stat, err := os.ReadFile(procDir(pid) + "/stat")
	if noSuchProcess(err) {
		return 0, os.ErrProcessDone
	}
	if err != nil {
		return 0, err
	}
	return parseStat(stat)
}

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// noSuchProcess reports whether an error below /proc means a missing process.
func noSuchProcess(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// errZombie means that the first thread of a process has ended.
var errZombie = errors.New("its first thread has ended")

// parseStat reads the start time from /proc/PID/stat: proc_pid_stat(5). The second field,
// a name in parentheses, may hold spaces and parentheses, so parseStat counts from the
// last parenthesis. errZombie comes with the start time.
func parseStat(stat []byte) (uint64, error) {
	const (
		stateField = 3
		startField = 22
	)
	name := bytes.LastIndexByte(stat, ')')
	if name < 0 {
		return 0, errors.New("its stat file has no name")
	}
	fields := strings.Fields(string(stat[name+1:])) // from stateField on
	if len(fields) <= startField-stateField {
		return 0, errors.New("its stat file is too short")
	}
	start, err := strconv.ParseUint(fields[startField-stateField], 10, 64)
	if err != nil {
		return 0, errors.New("its stat file has no start time")
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return start, errZombie
	}
	return start, nil
}

// open returns a handle of the process with an id and start time. An open handle stays
// with the process, so a check of the start time after opening is enough.
func open(pid int, start uint64) (fd int, err error) {
	fd, err = unix.PidfdOpen(pid, 0) // close-on-exec by itself
	if err != nil {
		return -1, done(err)
	}
	if err := verify(pid, start); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// noHandles reports whether an error means that the kernel or the container's filter has
// no process handles.
func noHandles(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM)
}

func signal(pid int, start uint64, sig syscall.Signal) error {
	fd, err := open(pid, start)
	if noHandles(err) {
		return signalByID(pid, start, sig)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

func waitGone(ctx context.Context, pid int, start uint64) error {
	fd, err := open(pid, start)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return nil
	case noHandles(err):
		return waitByPolling(ctx, pid, start)
	case err != nil:
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // for the runtime's poller
		_ = unix.Close(fd)
		return fmt.Errorf("make its handle pollable: %w", err)
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = handle.Close() }()
	return waitReadable(ctx, handle)
}

// waitReadable parks the goroutine until the handle reports the exit of the process by
// becoming readable, or ctx ends.
func waitReadable(ctx context.Context, handle *os.File) error {
	conn, err := handle.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = handle.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var pollErr error
	err = conn.Read(func(fd uintptr) bool {
		var n int
		n, pollErr = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if errors.Is(pollErr, unix.EINTR) {
			pollErr = nil
		}
		return n > 0 || pollErr != nil
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return errors.Join(err, pollErr)
}

// ByEnviron returns the processes of this user whose initial environment has a variable
// with an accepted value. Ended and unreadable processes (set-uid programs) are left out.
// ByEnviron reads one file for each process of the user.
func ByEnviron(name string, accept func(value string) bool) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	prefix := []byte(name + "=")
	has := func(pid int) bool {
		value, ok := environ(pid, prefix)
		return ok && accept(value)
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !ours(pid) || !has(pid) {
			continue
		}
		start, err := startTime(pid)
		// Looked at again, because the id may have changed hands before the
		// start time was read.
		if err == nil && has(pid) {
			found = append(found, Process{PID: pid, Start: start})
		}
	}
	return found, nil
}

// ours reports whether the process belongs to this user.
func ours(pid int) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// environ returns the value of the variable with the prefix.
func environ(pid int, prefix []byte) (value string, ok bool) {
	all, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
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
