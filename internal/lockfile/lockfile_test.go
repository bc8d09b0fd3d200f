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
