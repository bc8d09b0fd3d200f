package statemark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// startLockName is the lock file that a tick holds while the tick starts the gateway.
const startLockName = "start.lock"

// startLook is the time between two attempts to take the start lock.
const startLook = 20 * time.Millisecond

// LockStart keeps a person's stop apart from a start of the gateway by a tick. The tick
// holds the lock from the last look at the mark until the new gateway serves; a stop first
// sets the mark, then calls [AwaitStart]. LockStart blocks until the lock is free or ctx
// ends. The lock ends with release, or with the process.
func LockStart(ctx context.Context, dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, startLockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the start of the gateway: %w", err)
	}
	if err := poll(ctx, func() error { return lockfile.Try(f) }); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the start of the gateway: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// AwaitStart blocks while a tick is about to start a gateway, at most until the new gateway
// holds the state directory: from then on the caller finds and stops the gateway. Ticks
// that begin later find the mark.
func AwaitStart(ctx context.Context, dir string) error {
	f, err := os.Open(filepath.Join(dir, startLockName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no tick has started a gateway yet
	}
	if err == nil {
		defer func() { _ = f.Close() }()
		err = poll(ctx, func() error {
			if lockfile.IsStateHeld(dir) {
				return nil
			}
			return lockfile.Try(f)
		})
	}
	if err != nil {
		return fmt.Errorf("wait for a tick that starts the gateway: %w", err)
	}
	return nil
}

// poll calls try until the result is not [lockfile.ErrHeld], or ctx ends.
func poll(ctx context.Context, try func() error) error {
	for tick := time.Tick(startLook); ; {
		if err := try(); !errors.Is(err, lockfile.ErrHeld) {
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Gateway returns the gateway that holds a state directory, or held the directory last, and
// whether the process is alive. The error is [fs.ErrNotExist] if no gateway has run yet.
func Gateway(dir string) (h lockfile.Holder, alive bool, err error) {
	h, err = lockfile.ReadHolder(filepath.Join(dir, lockfile.StateLockName))
	return h, err == nil && proc.Alive(h.PID, h.Start), err
}
