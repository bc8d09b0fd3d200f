package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
)

// TakeOver resolves [ErrHeld]: TakeOver ends a gateway that was not started by the
// service manager with SIGTERM, waits for the exit, and starts the job instead. Sessions
// continue. TakeOver returns the actions taken.
func TakeOver(ctx context.Context, m Launcher, spec Spec) ([]string, error) {
	var did []string
	if h, held, _ := statemark.Gateway(spec.StateDir); held {
		if err := proc.Signal(h.PID, h.Start, syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return did, fmt.Errorf("tell the gateway with pid %d to leave: %w", h.PID, err)
		}
		if err := proc.WaitGone(ctx, h.PID, h.Start); err != nil {
			return did, fmt.Errorf("wait until the gateway with pid %d has left: %w", h.PID, err)
		}
		did = append(did, fmt.Sprintf("stopped the gateway with pid %d; its sessions go on", h.PID))
	}
	if err := m.Start(ctx, Gateway); err != nil {
		return did, err
	}
	s, err := m.Status(ctx, Gateway, spec)
	if err != nil {
		return did, err
	}
	return append(did, fmt.Sprintf("started the service, pid %d", s.PID)), nil
}

// interrupt ends the gateway with the given pid and all sessions through SIGINT, as
// Ctrl-C does, and waits for the exit. interrupt ignores a pid of 0.
func interrupt(ctx context.Context, pid int) error {
	if pid == 0 {
		return nil
	}
	start, err := proc.StartTime(pid)
	if err == nil {
		err = proc.Signal(pid, start, syscall.SIGINT)
	}
	if err == nil {
		err = proc.WaitGone(ctx, pid, start)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the gateway with pid %d and its sessions: %w", pid, err)
	}
	return nil
}
