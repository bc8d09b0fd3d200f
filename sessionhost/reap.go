package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// How long a process may take to end after SIGTERM, before SIGKILL.
const (
	hostGrace   = 4 * time.Second // the host ends claude meanwhile
	claudeGrace = 2 * time.Second
)

// reap ends the processes of the record at path, and returns when they are gone.
func reap(ctx context.Context, r protocol.Record, path string) error {
	if r.HostAlive() {
		if err := end(ctx, r.PID, r.Start, hostGrace); err != nil {
			return fmt.Errorf("end session host %d: %w", r.PID, err)
		}
	}
	if r.ClaudeAlive() {
		if err := end(ctx, r.ClaudePID, r.ClaudeStart, claudeGrace); err != nil {
			return fmt.Errorf("end claude %d: %w", r.ClaudePID, err)
		}
	}
	if r.ThisBoot() {
		return protocol.EnvMarkOf(path, r.PID, r.Start).Sweep(ctx)
	}
	return nil
}

// end sends SIGTERM, waits, and then sends SIGKILL. A process that is gone, or whose number
// belongs to another process, is fine.
func end(ctx context.Context, pid int, start uint64, grace time.Duration) error {
	for _, try := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, protocol.KillGrace}} {
		if !proc.Alive(pid, start) {
			return nil
		}
		if err := proc.Signal(pid, start, try.sig); err != nil && proc.Alive(pid, start) {
			return fmt.Errorf("send %v: %w", try.sig, err)
		}
		_ = proc.Signal(pid, start, syscall.SIGCONT) // a stopped process would not see SIGTERM
		waitCtx, cancel := context.WithTimeout(ctx, try.wait)
		err := proc.WaitGone(waitCtx, pid, start)
		cancel()
		if err == nil {
			return nil
		}
	}
	return errors.New("it does not end")
}

func reapRecord(ctx context.Context, p protocol.Place) error {
	r, err := protocol.ReadRecord(p.RecordPath)
	if protocol.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := reap(ctx, r, p.RecordPath); err != nil {
		return err
	}
	if err := os.Remove(p.RecordPath); err != nil && !protocol.IsNotExist(err) {
		return fmt.Errorf("remove host record: %w", err)
	}
	return nil
}

// Sweep ends the leftover processes of sessions of this state directory whose host is gone.
// It returns when they are gone, or when ctx ends.
func (h *Hosts) Sweep(ctx context.Context) error {
	return protocol.Sweep(ctx, protocol.IsOrphan(protocol.PlaceOf(h.o.StateDir, h.o.RuntimeDir, "").RecordPath))
}
