// Package procmark marks processes by a variable of their environment. Whatever they start inherits the
// mark, also in sessions and process groups of its own, and can be found by it and ended.
package procmark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/proc"
)

// sweepGrace is how long leftover processes may take to end after SIGTERM.
const sweepGrace = 300 * time.Millisecond

// KillGrace is how long a process may take to end after SIGKILL: only the kernel can be
// slow.
const KillGrace = 5 * time.Second

// sweepRounds bounds how often Sweep searches again: an ending process may start another.
const sweepRounds = 3

// A Mark names the process that owns others, and the directory of its state.
type Mark struct {
	home  string // hash of the directory
	pid   int
	start uint64
}

// Of returns the mark of a process with its state in a directory.
func Of(dir string, pid int, start uint64) Mark {
	sum := sha256.Sum256([]byte(dir))
	return Mark{
		home:  hex.EncodeToString(sum[:8]),
		pid:   pid,
		start: start,
	}
}

// String returns the value of the variable.
func (m Mark) String() string { return fmt.Sprintf("%s.%d.%d", m.home, m.pid, m.start) }

// Numbered returns the value of the variable for one of several groups of processes that the process owns.
func (m Mark) Numbered(n int) string { return fmt.Sprintf("%s.%d", m, n) }

// PID returns the id of the process that owns the others.
func (m Mark) PID() int { return m.pid }

// Parse returns the mark in a value of the variable, numbered or not.
func Parse(value string) (m Mark, ok bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 && len(parts) != 4 {
		return m, false
	}
	pid, err := strconv.Atoi(parts[1])
	start, err2 := strconv.ParseUint(parts[2], 10, 64)
	return Mark{parts[0], pid, start}, err == nil && err2 == nil
}

// Orphans returns a predicate on values: the process that owns the marked ones is gone, and had its state in
// a directory.
func Orphans(dir string) func(value string) bool {
	home := Of(dir, 0, 0).home
	return func(value string) bool {
		m, ok := Parse(value)
		return ok && m.home == home && !proc.Alive(m.pid, m.start)
	}
}

// Sweep ends the processes whose value of a variable is accepted, but not this process. It does nothing on a
// system without readable environments.
func Sweep(ctx context.Context, variable string, accept func(value string) bool) error {
	for range sweepRounds {
		found, err := proc.ByEnviron(variable, accept)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find leftover processes: %w", err)
		}
		found = slices.DeleteFunc(found, func(p proc.Process) bool { return p.PID == os.Getpid() })
		if len(found) == 0 {
			return nil
		}
		if err := End(ctx, sweepGrace, found...); err != nil {
			return fmt.Errorf("end leftover processes: %w", err)
		}
	}
	return nil
}

// End ends processes: it sends SIGTERM to all, waits up to grace, and sends SIGKILL to the
// rest. A process that is gone, or whose number belongs to another process, is fine.
func End(ctx context.Context, grace time.Duration, all ...proc.Process) error {
	for _, try := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, KillGrace}} {
		for _, p := range all {
			_ = proc.Signal(p.PID, p.Start, try.sig)         // a process may have ended
			_ = proc.Signal(p.PID, p.Start, syscall.SIGCONT) // a stopped process would not see SIGTERM
		}
		waitCtx, cancel := context.WithTimeout(ctx, try.wait)
		all = slices.DeleteFunc(all, func(p proc.Process) bool { return proc.WaitGone(waitCtx, p.PID, p.Start) == nil })
		cancel()
		if len(all) == 0 {
			return nil
		}
	}
	return fmt.Errorf("process %d does not end", all[0].PID)
}
