package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	check.OK(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	check.OK(t, Acquire(first))
	if err := Acquire(second); !errors.Is(err, ErrHeld) {
		t.Fatalf("second holder: %v, want ErrHeld", err)
	}
	check.OK(t, first.Close())
	if err := Try(second); err != nil {
		t.Errorf("after the first holder left: %v", err)
	}
}

// The first holder goes while the second one waits for it.
func TestTakeWaitsForAMoment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	check.OK(t, Acquire(first))
	time.AfterFunc(30*time.Millisecond, func() { _ = first.Close() })
	if err := Acquire(second); err != nil {
		t.Errorf("it was released in time: %v", err)
	}
}

// A keeper takes a lock file that cannot be read for the end of the gateway.
func TestReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := AcquireState(dir)
	check.OK(t, err)
	defer lock.Release()
	short := Holder{PID: 1, Start: 1, Address: "127.0.0.1:1"}
	long := Holder{
		PID: 123456, Start: 123456789, Address: "127.0.0.1:12345", StartedAt: time.Now(),
		Log: LogLocation{Path: "/home/somebody/.local/state/bareclaw/bareclaw.log"},
	}
	check.OK(t, lock.Describe(short))
	done := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < 50_000 && err == nil; n++ {
			if err = lock.Describe(long); err == nil {
				err = lock.Describe(short)
			}
		}
		done <- err
	}()
	for {
		h, err := ReadHolder(filepath.Join(dir, StateLockName))
		check.OK(t, err)
		if (h.PID != short.PID || h.Start != short.Start) && (h.PID != long.PID || h.Start != long.Start) {
			t.Fatalf("a holder that nobody has described: %+v", h)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}
