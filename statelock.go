package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bareclaw/internal/filelock"
)

// A holder is what the state directory's lock file says of the daemon that has
// it.
type holder struct {
	PID       int       `json:"pid"`
	Start     uint64    `json:"start,omitempty"`   // as procs.StartTime has it
	Address   string    `json:"address,omitempty"` // of the HTTP server
	StartedAt time.Time `json:"started_at"`
}

// lockName is the lock file's name in the state directory.
const lockName = "daemon.lock"

// A stateLock makes this the only daemon on a state directory. The lock ends
// with the process, however it ends.
type stateLock struct{ f *os.File }

// lockState takes the lock, or says who has it.
func lockState(dir string) (*stateLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state directory's lock: %w", err)
	}
	if err := filelock.Take(f); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, filelock.ErrHeld) {
			return nil, err
		}
		return nil, heldBy(f, dir)
	}
	return &stateLock{f: f}, nil
}

func heldBy(f io.Reader, dir string) error {
	var h holder
	if err := json.NewDecoder(f).Decode(&h); err != nil {
		return fmt.Errorf("another gateway uses %s; stop it first, or set BARECLAW_STATE_DIR to another directory", dir)
	}
	return fmt.Errorf("another gateway (pid %d, at %s, since %s) uses %s; stop it first, or set BARECLAW_STATE_DIR and BARECLAW_PORT to others",
		h.PID, h.Address, h.StartedAt.Format(time.RFC3339), dir)
}

// describe writes who holds the lock.
func (l *stateLock) describe(h holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("describe the lock's holder: %w", err)
	}
	b = append(b, '\n')
	if _, err := l.f.WriteAt(b, 0); err != nil { // first: whoever reads meanwhile takes an empty file for a lost daemon
		return fmt.Errorf("write the lock file: %w", err)
	}
	if err := l.f.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}

// inheritedLock returns the lock of the state directory that was handed over,
// nil if the file is that of another directory.
func inheritedLock(f *os.File, dir string) *stateLock {
	have, err := f.Stat()
	if err != nil {
		return nil
	}
	want, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil || !os.SameFile(have, want) {
		return nil
	}
	return &stateLock{f: f}
}

// readHolder returns what a lock file says of its holder.
func readHolder(path string) (h holder, err error) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(b)).Decode(&h) // what follows is left from a longer one
	}
	if err != nil {
		return h, fmt.Errorf("read the state directory's lock: %w", err)
	}
	return h, nil
}

func (l *stateLock) release() { _ = l.f.Close() }
