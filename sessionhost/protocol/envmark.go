package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/proc"
)

// EnvMarkVariable is in the environment of claude and of every process that claude starts,
// also in sessions and process groups of their own. Its value names the host. A process
// that must outlive the session runs without the variable.
const EnvMarkVariable = "BARECLAW_SESSION"

// sweepGrace is how long leftover processes of a session may take to end after SIGTERM.
const sweepGrace = 300 * time.Millisecond

// KillGrace is how long a process may take to end after SIGKILL: only the kernel can be
// slow.
const KillGrace = 5 * time.Second

// sweepRounds bounds how often Sweep searches again: an ending process may start another.
const sweepRounds = 3

// An EnvMark names a host by its state directory and its process.
type EnvMark struct {
	home  string // hash of the records' directory
	pid   int
	start uint64
}

// EnvMarkOf returns the mark of a host whose record is at recordPath.
func EnvMarkOf(recordPath string, pid int, start uint64) EnvMark {
	sum := sha256.Sum256([]byte(filepath.Dir(recordPath)))
	return EnvMark{home: hex.EncodeToString(sum[:8]), pid: pid, start: start}
}

// String returns the value of the variable.
func (m EnvMark) String() string { return fmt.Sprintf("%s.%d.%d", m.home, m.pid, m.start) }

func parseEnvMark(s string) (m EnvMark, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return m, false
	}
	pid, err := strconv.Atoi(parts[1])
	start, err2 := strconv.ParseUint(parts[2], 10, 64)
	return EnvMark{home: parts[0], pid: pid, start: start}, err == nil && err2 == nil
}

// Sweep ends the processes with this mark. It does nothing on a system without readable
// environments.
func (m EnvMark) Sweep(ctx context.Context) error {
	return Sweep(ctx, func(value string) bool { return value == m.String() })
}

// IsOrphan returns a predicate on marks: the host is gone, and its record was in the same
// directory as recordPath.
func IsOrphan(recordPath string) func(value string) bool {
	home := EnvMarkOf(recordPath, 0, 0).home
	return func(value string) bool {
		m, ok := parseEnvMark(value)
		return ok && m.home == home && !proc.Alive(m.pid, m.start)
	}
}

// Sweep ends the processes whose mark is accepted.
func Sweep(ctx context.Context, accept func(value string) bool) error {
	for range sweepRounds {
		found, err := proc.ByEnviron(EnvMarkVariable, accept)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find what a session left: %w", err)
		}
		found = slices.DeleteFunc(found, func(p proc.Process) bool { return p.PID == os.Getpid() })
		if len(found) == 0 {
			return nil
		}
		if err := End(ctx, sweepGrace, found...); err != nil {
			return fmt.Errorf("end what a session left: %w", err)
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

// EnclosingHost returns the pid of the host in whose session this process runs; false
// outside of sessions.
func EnclosingHost() (hostPID int, ok bool) {
	m, ok := parseEnvMark(os.Getenv(EnvMarkVariable))
	return m.pid, ok
}
