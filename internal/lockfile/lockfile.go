// Package lockfile takes advisory locks on files, among them the lock against a second
// daemon on a state directory. A lock belongs to the open file: the system releases the
// lock when the last descriptor is closed, however the process ends, and a child process
// may inherit the descriptor.
package lockfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld reports that another open file holds the lock.
var ErrHeld = errors.New("lock is held by another process")

// Try takes the lock without waiting. The error is ErrHeld or the system's error.
func Try(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Acquire retries Try for at most half a second, because a child of the previous owner
// may hold the descriptor for a moment, between fork and exec.
func Acquire(f *os.File) error {
	const tries, pause = 50, 10 * time.Millisecond
	err := Try(f)
	for n := 1; n < tries && errors.Is(err, ErrHeld); n++ {
		time.Sleep(pause)
		err = Try(f)
	}
	return err
}
