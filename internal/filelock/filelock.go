// Package filelock takes the advisory locks that tell one process from another.
// A lock belongs to the open file: it ends when the last descriptor of it is
// closed, however the process ends, and a child may be given it.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld means that another open file has the lock.
var ErrHeld = errors.New("lock is held by another process")

// Try takes the lock without waiting. The error is ErrHeld or the system's.
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

// Take is Try for at most half a second. An owner that has just closed its file
// may live on in a child for a moment: between its fork and its exec the child
// has the descriptor too.
func Take(f *os.File) error {
	const tries, pause = 50, 10 * time.Millisecond
	err := Try(f)
	for n := 1; n < tries && errors.Is(err, ErrHeld); n++ {
		time.Sleep(pause)
		err = Try(f)
	}
	return err
}
