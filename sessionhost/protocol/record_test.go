package protocol

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.json")
	if _, err := ReadRecord(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a record that is not there: %v", err)
	}
	want := Record{Channel: "a \"b\"\n\u2028", Socket: "/run/x.sock", PID: 1, Start: 1<<64 - 1, ClaudePID: 2, ClaudeStart: 3, BootID: "b"}
	for range 2 { // also over an old one
		check.OK(t, want.Write(path))
		if got, err := ReadRecord(path); err != nil || got != want {
			t.Errorf("record is %+v (%v), want %+v", got, err, want)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v)", st.Mode(), err)
	}
	check.OK(t, os.WriteFile(path, []byte(`{"channel":`), 0o600))
	if _, err := ReadRecord(path); err == nil || IsNotExist(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("half a record: %v", err)
	}
}

// TestPaths holds that any channel has files of its own, with names that fit.
func TestPaths(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"", "a", "A", "a ", "../../etc/passwd", strings.Repeat("x", 4000), strings.Repeat("x", 4000) + "y", "ключ", "a\nb", "a\x00b"} {
		p := PlaceOf("/state", "/run", key)
		if other, taken := seen[p.Socket]; taken {
			t.Errorf("%q and %q share %s", key, other, p.Socket)
		}
		seen[p.Socket] = key
		if len(p.Socket) > len("/run/")+29 || filepath.Dir(p.Socket) != "/run" || filepath.Dir(p.RecordPath) != "/state/hosts" {
			t.Errorf("%q has the files %+v", key, p)
		}
	}
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := LockFile(path)
	check.OK(t, err)
	if _, err := LockFile(path); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v, want errLocked", err)
	}
	_ = first.Close()
	again, err := LockFile(path)
	check.OK(t, err)
	_ = again.Close()
}

func TestSpareKeys(t *testing.T) {
	t.Parallel()
	if slot, ok := SpareSlot(SpareChannel(64)); slot != 64 || !ok {
		t.Errorf("slot %d, %v", slot, ok)
	}
	for _, key := range []string{"", "spare-1", "http", "\x00spare-", "\x00spare-x", "\x00spare"} {
		if slot, ok := SpareSlot(key); ok {
			t.Errorf("%q is the spare in slot %d", key, slot)
		}
	}
}
