package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"

	"golang.org/x/sys/unix"
)

// smallDisk returns a directory on a file system of 2 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	roottest.SmallDisk(t, dir, "2m")
	return dir
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	var logged bytes.Buffer
	l, err := sqlite.Open(filepath.Join(dir, "ledger.db"), slog.New(slog.NewTextHandler(&logged, nil)))
	check.OK(t, err)
	var want core.Balance
	for round := range 3 {
		free := roottest.Fill(t, dir)
		var refused *core.Message
		for refused == nil {
			m := ledgertest.Message("c")
			switch err := ledgertest.Write(l, core.Change{Accept: []*core.Message{m}}); {
			case err == nil: // there was room in the log
				want.Accepted, want.Waiting = want.Accepted+1, want.Waiting+1
			case errors.Is(err, core.ErrStorageFull):
				refused = m
			default:
				t.Fatalf("round %d: error = %v, want ErrStorageFull", round, err)
			}
		}
		if _, err := l.Message(t.Context(), refused.ID); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("refused message: error = %v, want ErrNotFound", err)
		}
		ledgertest.WantBalance(t, l, want)
		together := []core.Change{{Accept: []*core.Message{ledgertest.Message("c")}}, {Accept: []*core.Message{ledgertest.Message("c")}}}
		for _, err := range ledgertest.WriteTogether(l, together) {
			if !errors.Is(err, core.ErrStorageFull) {
				t.Errorf("in a group: error = %v, want ErrStorageFull", err)
			}
		}
		free()
		ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{refused}})
		want.Accepted, want.Waiting = want.Accepted+1, want.Waiting+1
		ledgertest.WantBalance(t, l, want)
	}
	check.OK(t, l.Close())
	for _, says := range []string{"cannot be written", "can be written again"} {
		if got := strings.Count(logged.String(), says); got != 3 {
			t.Errorf("%q is logged %d times, want once a round:\n%s", says, got, &logged)
		}
	}
}

// Arrivals that cannot be posted for want of room are not lost, and no read
// pretends that they do not exist.
func TestArrivalsOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	l := openAt(t, filepath.Join(dir, "ledger.db"))
	var want []*core.Message
	for i := range 40 {
		m := ledgertest.Message(fmt.Sprint("channel ", i))
		m.Content.Text = strings.Repeat("x", 1500)
		ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{m}})
		want = append(want, m)
	}
	free := roottest.Fill(t, dir)
	for _, m := range want {
		if _, err := l.Message(t.Context(), m.ID); err != nil && !errors.Is(err, core.ErrStorageFull) {
			t.Fatalf("error = %v, want ErrStorageFull", err)
		}
	}
	free()
	for _, m := range want {
		if _, err := l.Message(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
	}
	ledgertest.WantBalance(t, l, core.Balance{Accepted: int64(len(want)), Waiting: int64(len(want))})
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "ledger.db")
	l := openAt(t, path)
	ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{ledgertest.Message("c")}})
	check.OK(t, l.Close())
	remount := func(flags uintptr) {
		check.OK(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|flags, "size=2m"))
	}
	remount(unix.MS_RDONLY)
	if l, err := sqlite.Open(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a ledger on a read-only disk was opened", l.Close())
	} else if !errors.Is(err, core.ErrStorage) || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v, want ErrStorage and the file's name", err)
	}
	if _, err := sqlite.Open(filepath.Join(dir, "new", "ledger.db"), slog.New(slog.DiscardHandler)); !errors.Is(err, unix.EROFS) {
		t.Errorf("a new ledger on a read-only disk: error = %v, want EROFS", err)
	}
	remount(0)
	ledgertest.WantBalance(t, openAt(t, path), core.Balance{Accepted: 1, Waiting: 1})
}

// TestDiskComesBack lets system calls fail for a while under an open ledger, as
// they do when the kernel turns a file system read-only or a disk goes away for
// a moment: what fails then is refused, and later writes work again.
func TestDiskComesBack(t *testing.T) {
	t.Parallel()
	strace := lookStrace(t)
	for name, c := range map[string]struct{ fault, want string }{
		"read-only":    {"pwrite64:error=EROFS:when=150..180", "storage"},
		"write error":  {"pwrite64:error=EIO:when=150..151", "storage"},
		"sync error":   {"fsync,fdatasync:error=EIO:when=20..35", "storage"},
		"no space":     {"pwrite64:error=ENOSPC:when=150..180", "full"},
		"no more size": {"ftruncate:error=EIO:when=3+", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			calls, _, _ := strings.Cut(c.fault, ":")
			out, err := childCommand(t, path, strace, "-f", "-qqq", "-o", os.DevNull, "-e", "trace="+calls, "-e", "inject="+c.fault).Output()
			if err != nil {
				t.Errorf("the child ended with %v", err)
			}
			lines := reports(out)
			failed := func(line string) bool { return strings.HasPrefix(line, "not-") }
			first := slices.IndexFunc(lines, failed)
			if c.want != "" && first < 0 {
				t.Error("no fault had an effect")
			}
			for _, line := range lines {
				if what, _, _ := strings.Cut(line, " "); failed(line) && !strings.HasSuffix(what, ":"+c.want) {
					t.Errorf("%s, want %s", line, c.want)
				}
			}
			if !slices.ContainsFunc(lines[first+1:], func(line string) bool { return !failed(line) }) {
				t.Error("it did not work again")
			}
			survivors(t, path, lines)
		})
	}
}
