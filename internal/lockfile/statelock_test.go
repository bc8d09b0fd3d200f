package lockfile

import (
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

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
