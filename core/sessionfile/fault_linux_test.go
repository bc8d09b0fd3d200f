package sessionfile_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"

	"golang.org/x/sys/unix"
)

// TestFullAndReadOnlyDisk: a change that cannot be written is not made, and can
// be made when there is room again.
func TestFullAndReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roottest.SmallDisk(t, dir, "1m")
	path := filepath.Join(dir, "sessions.json")
	f := open(t, path)
	set(t, f, "a", idA)
	free := roottest.Fill(t, dir)
	if err := f.Set("b", idB); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v, want ENOSPC and the file's name", err)
	}
	if err := f.Forget("a"); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error = %v, want ENOSPC", err)
	}
	if _, ok := f.Get("b"); ok || len(f.All()) != 1 {
		t.Errorf("entries = %v, want what is on the disk", f.All())
	}
	free()
	set(t, f, "b", idB)
	if got := contents(t, path); !strings.Contains(got, idB) {
		t.Errorf("file = %q", got)
	}
	check.OK(t, f.Close())
	check.OK(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=1m"))
	if _, err := sessionfile.Open(path, slog.New(slog.DiscardHandler)); !errors.Is(err, unix.EROFS) ||
		!strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("error = %v, want EROFS and what it means", err)
	}
}
