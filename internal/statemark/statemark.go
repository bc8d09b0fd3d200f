// Package statemark keeps the files that mark a state directory: a person has stopped the
// gateway, or a restore is changing the directory.
package statemark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/wait"
)

// stoppedName is the mark of a gateway that a person has stopped.
const stoppedName = "stopped.json"

// A stop is the content of that mark.
type stop struct {
	At     time.Time `json:"at"`
	BootID string    `json:"boot_id"` // proc.BootID; empty if unknown
}

// MarkStopped records that a person stops the gateway of a state directory. Until the next
// boot only a person starts the gateway again.
func MarkStopped(dir string) error {
	boot, _ := proc.BootID() // empty is compared like any other
	if err := atomicfile.WriteJSON(filepath.Join(dir, stoppedName), stop{At: time.Now().UTC(), BootID: boot}); err != nil {
		return fmt.Errorf("note that the gateway is stopped: %w", err)
	}
	return nil
}

// ClearStopped removes the mark when a gateway starts or goes on.
func ClearStopped(dir string) error {
	if err := os.Remove(filepath.Join(dir, stoppedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that the gateway was stopped: %w", err)
	}
	return nil
}

// StoppedAt returns when a person stopped the gateway in this boot of the machine. It
// reports false without such a mark, and if the mark cannot be read: a gateway that is
// down for no known reason is started again.
func StoppedAt(dir string) (time.Time, bool) {
	b, err := os.ReadFile(filepath.Join(dir, stoppedName))
	if err != nil {
		return time.Time{}, false
	}
	var s stop
	if err := json.Unmarshal(b, &s); err != nil || s.At.IsZero() {
		return time.Time{}, false
	}
	boot, _ := proc.BootID()
	return s.At, s.BootID == boot
}

// restoringName is a file in the state directory while a restore changes the directory.
const restoringName = "restore-unfinished"

// CheckRestored returns an error for a state directory with an unfinished restore. Such a
// directory mixes old and new state.
func CheckRestored(stateDir string) error {
	_, err := os.Stat(filepath.Join(stateDir, restoringName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find whether a restore was cut short: %w", err)
	}
	return fmt.Errorf("a restore was cut short in %s, which is neither the old state nor the new one: run `bareclaw restore --force FILE` again; "+
		"what it has moved aside has .before-restore- in its name", stateDir)
}

// MarkRestoring marks the state directory at the beginning of a restore. It reports false
// if the mark of an earlier restore is there.
func MarkRestoring(stateDir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(stateDir, restoringName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return false, fmt.Errorf("note that a restore begins: %w", err)
	}
	return true, nil
}

// ClearRestoring removes the mark: the restore is complete, or taken back.
func ClearRestoring(stateDir string) error {
	if err := os.Remove(filepath.Join(stateDir, restoringName)); err != nil {
		return fmt.Errorf("note that the restore is over: %w", err)
	}
	return nil
}

// startLockName is the lock file that a tick holds while the tick starts the gateway.
const startLockName = "start.lock"

// startLook is the time between two attempts to take the start lock.
const startLook = 20 * time.Millisecond

// LockStart keeps a person's stop apart from a start of the gateway by a tick. The tick
// holds the lock from the last look at the mark until the new gateway serves; a stop first
// sets the mark, then calls [AwaitStart]. LockStart blocks until the lock is free or ctx
// ends. The lock ends with release, or with the process.
func LockStart(ctx context.Context, dir string) (release func(), err error) {
	f, err := lockfile.Open(filepath.Join(dir, startLockName), func(f *os.File) error {
		return lockfile.Await(ctx, f, startLook)
	})
	if err != nil {
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
		err = wait.Poll(ctx, startLook, func() (bool, error) {
			if lockfile.IsStateHeld(dir) {
				return true, nil
			}
			err := lockfile.Try(f)
			if errors.Is(err, lockfile.ErrHeld) {
				return false, nil
			}
			return true, err
		})
	}
	if err != nil {
		return fmt.Errorf("wait for a tick that starts the gateway: %w", err)
	}
	return nil
}

// Gateway returns the gateway that holds a state directory, or held the directory last, and
// whether the process is alive. The error is [fs.ErrNotExist] if no gateway has run yet.
func Gateway(dir string) (h lockfile.Holder, alive bool, err error) {
	h, err = lockfile.ReadHolder(filepath.Join(dir, lockfile.StateLockName))
	return h, err == nil && proc.Alive(h.PID, h.Start), err
}
