package sessionhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.json")
	if _, err := readRecord(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a record that is not there: %v", err)
	}
	want := record{Channel: "a \"b\"\n\u2028", Socket: "/run/x.sock", PID: 1, Start: 1<<64 - 1, ClaudePID: 2, ClaudeStart: 3, BootID: "b"}
	for range 2 { // also over an old one
		if err := want.write(path); err != nil {
			t.Fatal(err)
		}
		if got, err := readRecord(path); err != nil || got != want {
			t.Errorf("record is %+v (%v), want %+v", got, err, want)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v)", st.Mode(), err)
	}
	if err := os.WriteFile(path, []byte(`{"channel":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecord(path); err == nil || isGone(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("half a record: %v", err)
	}
}

// TestPaths holds that any channel has files of its own, with names that fit.
func TestPaths(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"", "a", "A", "a ", "../../etc/passwd", strings.Repeat("x", 4000), strings.Repeat("x", 4000) + "y", "ключ", "a\nb", "a\x00b"} {
		p := pathsFor("/state", "/run", key)
		if other, taken := seen[p.socket]; taken {
			t.Errorf("%q and %q share %s", key, other, p.socket)
		}
		seen[p.socket] = key
		if len(p.socket) > len("/run/")+29 || filepath.Dir(p.socket) != "/run" || filepath.Dir(p.record) != "/state/hosts" {
			t.Errorf("%q has the files %+v", key, p)
		}
	}
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path); !errors.Is(err, errLocked) {
		t.Errorf("second lock: %v, want errLocked", err)
	}
	_ = first.Close()
	again, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
