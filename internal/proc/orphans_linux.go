package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	ossignal "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// relookEvery is the time until ReapOrphans looks again at a zombie with an open handle.
const relookEvery = time.Second

// ReapOrphans collects, until ctx ends, the exit statuses of processes whose parents ended
// and left them to this process, as happens to process 1 of a container. Children of
// os/exec are left alone: os/exec holds a pidfd of each child, and ReapOrphans skips every
// process of which this process has a pidfd. Without pidfds in the kernel or the container
// ReapOrphans returns an error and collects nothing.
func ReapOrphans(ctx context.Context) error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.WithHandle(func(uintptr) {})
	}
	if err != nil {
		return fmt.Errorf("tell orphans from other children: %w", err)
	}
	ended := make(chan os.Signal, 1) // a second pending signal adds nothing
	ossignal.Notify(ended, syscall.SIGCHLD)
	defer ossignal.Stop(ended)
	relook := time.NewTimer(0) // some may have ended already
	defer relook.Stop()
	for {
		select {
		case <-ended:
		case <-relook.C:
		case <-ctx.Done():
			return nil
		}
		held, err := reapOrphans()
		if err != nil {
			return err
		}
		if held {
			relook.Reset(relookEvery)
		}
	}
}

// reapOrphans collects ended orphans. held reports that others have an open pidfd.
func reapOrphans() (held bool, err error) {
	var first unix.Siginfo
	err = unix.Waitid(unix.P_ALL, 0, &first, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.Is(err, unix.ECHILD) || err == nil && first.Signo == 0 {
		return false, nil
	}
	pids, err := processes()
	if err != nil {
		return false, err
	}
	before := map[int]uint64{} // start times of the ended children
	for _, pid := range pids {
		if start, ok := endedChild(pid); ok {
			before[pid] = start
		}
	}
	handles, err := heldByPidfd()
	if err != nil {
		return false, err
	}
	for pid, start := range before {
		if handles[pid] {
			held = true
			continue
		}
		// Still the listed process, which had no handle.
		if again, ok := endedChild(pid); ok && again == start {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // a zombie does not block
		}
	}
	return held, nil
}

func endedChild(pid int) (start uint64, ok bool) {
	s, err := statOf(pid)
	return s.start, err == nil && s.zombie && s.parent == os.Getpid()
}

// heldByPidfd returns the processes of which this process has a pidfd: a line of its fdinfo
// names the process, see pidfd_open(2).
func heldByPidfd() (map[int]bool, error) {
	const dir = "/proc/self/fdinfo"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list open files: %w", err)
	}
	held := map[int]bool{}
	for _, e := range entries {
		info, _ := os.ReadFile(filepath.Join(dir, e.Name())) // one may be closed meanwhile
		for line := range strings.Lines(string(info)) {
			if value, ok := strings.CutPrefix(line, "Pid:"); ok {
				if pid, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					held[pid] = true
				}
			}
		}
	}
	return held, nil
}
