package roottest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
)

// SmallDisk puts a directory on a file system of a size, such as 2m, until the test ends, and skips
// the test, saying so, where mounting is not allowed.
func SmallDisk(t testing.TB, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		Unavailable(t, "a full and a read-only disk: mounting takes root: %v", err)
	}
	t.Cleanup(func() {
		// A process that another test starts has all open files for a moment.
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// Fill leaves no room on the small disk of a directory and returns what gives it back.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	check.OK(t, err)
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
