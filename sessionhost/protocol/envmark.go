package protocol

import (
	"context"
	"os"
	"path/filepath"

	"bareclaw/internal/procmark"
)

// EnvMarkVariable is in the environment of claude and of every process that claude starts,
// also in sessions and process groups of their own. Its value is the mark of the host. A process
// that must outlive the session runs without the variable.
const EnvMarkVariable = "BARECLAW_SESSION"

// EnvMarkOf returns the mark of a host whose record is at recordPath.
func EnvMarkOf(recordPath string, pid int, start uint64) procmark.Mark {
	return procmark.Of(filepath.Dir(recordPath), pid, start)
}

// SweepMarked ends the processes with a mark. It does nothing on a system without readable environments.
func SweepMarked(ctx context.Context, m procmark.Mark) error {
	return procmark.Sweep(ctx, EnvMarkVariable, func(value string) bool { return value == m.String() })
}

// IsOrphan returns a predicate on marks: the host is gone, and its record was in the same
// directory as recordPath.
func IsOrphan(recordPath string) func(value string) bool {
	return procmark.Orphans(filepath.Dir(recordPath))
}

// EnclosingHost returns the pid of the host in whose session this process runs; false
// outside of sessions.
func EnclosingHost() (hostPID int, ok bool) {
	m, ok := procmark.Parse(os.Getenv(EnvMarkVariable))
	return m.PID(), ok
}
