package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestRemoveUnused removes the programs of one checkout and keeps those of another.
func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	cache, now, mine := t.TempDir(), time.Now(), fmt.Sprintf("bareclaw-e2e-%d-", os.Getuid())
	for name, used := range map[string]time.Time{mine + "old": now.Add(-keepPrograms - time.Minute), mine + "new": now, "tools": now.Add(-2 * keepPrograms)} {
		dir := filepath.Join(cache, name)
		check.OK(t, os.Mkdir(dir, 0o700))
		check.OK(t, os.WriteFile(filepath.Join(dir, "program"), nil, 0o600))
		check.OK(t, os.Chtimes(dir, used, used))
	}
	check.OK(t, removeUnused(cache, now.Add(-keepPrograms)))
	for name, want := range map[string]bool{mine + "old": false, mine + "new": true, "tools": true} {
		if _, err := os.Stat(filepath.Join(cache, name, "program")); (err == nil) != want {
			t.Errorf("%s is kept: %v, want %v", name, err == nil, want)
		}
	}
}
