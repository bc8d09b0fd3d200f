package statemark

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestStopped: a stop counts until it is forgotten, or the machine has booted again.
func TestStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, ok := StoppedAt(dir); ok {
		t.Error("stopped before anybody has")
	}
	before := time.Now()
	check.OK(t, MarkStopped(dir))
	if at, ok := StoppedAt(dir); !ok || at.Before(before.Add(-time.Second)) || at.After(time.Now()) {
		t.Errorf("stopped at %v, %v", at, ok)
	}
	path := filepath.Join(dir, stoppedName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for range 2 { // it may be gone already
		if err := ClearStopped(dir); err != nil {
			t.Error(err)
		}
	}
	if _, ok := StoppedAt(dir); ok {
		t.Error("stopped although that is forgotten")
	}
	for _, text := range []string{`{"at":"2030-01-02T03:04:05Z","boot_id":"another"}`, `{`, `{}`} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		if _, ok := StoppedAt(dir); ok {
			t.Errorf("%s counts", text)
		}
	}
}
