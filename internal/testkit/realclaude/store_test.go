package realclaude

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// newStore returns a store whose npm delivers a package with a program of that version. The
// npm writes a line per call to the file that calls reads, and fails while a file down is there.
func newStore(t *testing.T, version string) (s store, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package/claude": "#!/bin/sh\necho '" + version + " (Claude Code)'\n",
		"npm":            `#!/bin/sh` + "\n" + `cd ` + dir + `; echo $1 >>calls; [ ! -e down ] || { echo unreachable; exit 1; }; case $1 in view) cat sum ;; pack) cp published $5/claude.tgz ;; esac`,
	} {
		err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		check.OK(t, errors.Join(err, executable.Write(filepath.Join(dir, name), []byte(text))))
	}
	out, err := exec.Command("tar", "-C", dir, "-czf", filepath.Join(dir, "published"), "package").CombinedOutput()
	archive, readErr := os.ReadFile(filepath.Join(dir, "published"))
	if err := errors.Join(err, readErr); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sum := sha512.Sum512(archive)
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	check.OK(t, os.WriteFile(filepath.Join(dir, "sum"), []byte(integrity), 0o600))
	calls = func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "calls")) // none yet
		return strings.Join(strings.Fields(string(b)), " ")
	}
	return store{dir: filepath.Join(dir, "cache"), platform: "test", version: Version, integrity: integrity, npm: filepath.Join(dir, "npm")}, calls
}

// TestFetch fetches several times at once, after a fetch that was killed, and once more.
func TestFetch(t *testing.T) {
	t.Parallel()
	s, calls := newStore(t, Version)
	check.OK(t, os.MkdirAll(s.path(".tmp/x"), 0o755))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			path, err := s.fetch(t.Context(), 0)
			if want := filepath.Join(s.path(""), "claude"); err != nil || path != want || !exists(path) {
				t.Errorf("path %s, want %s: %v", path, want, err)
			}
		})
	}
	all.Wait()
	if got := calls(); got != "view pack" {
		t.Errorf("npm was called %q, want one view and one pack", got)
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	other, _ := newStore(t, "1.0.0")
	changed, _ := newStore(t, Version)
	changed.integrity = integrity["linux-x64"]
	for want, s := range map[string]store{`"1.0.0 (Claude Code)"`: other, "checksum": changed} {
		if _, err := s.fetch(t.Context(), 0); err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) || exists(s.path("")) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestFetchOfAnotherVersion asks npm for the checksum, which is held like a known one.
func TestFetchOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, "3.0.0")
	s.version, s.integrity = "3.0.0", ""
	if _, err := s.fetch(t.Context(), 0); err != nil {
		t.Error(err)
	}
	changed, _ := newStore(t, "3.0.0")
	changed.version, changed.integrity = "3.0.0", ""
	check.OK(t, os.WriteFile(filepath.Join(filepath.Dir(changed.dir), "sum"), []byte("sha512-other"), 0o600))
	if _, err := changed.fetch(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v, want one of the checksum", err)
	}
}

// TestUnavailable remembers for a while that npm reached nothing, but nothing of a fetch that
// was cancelled.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, Version)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.fetch(ctx, 0); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) || exists(s.path(".unavailable")) {
		t.Errorf("a fetch that was cancelled: %v", err)
	}
	down := filepath.Join(filepath.Dir(s.dir), "down")
	check.OK(t, os.WriteFile(down, nil, 0o600))
	if _, err := s.fetch(t.Context(), time.Hour); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("error %v, want ErrUnavailable with npm's words", err)
	}
	check.OK(t, os.Remove(down))
	if _, err := s.fetch(t.Context(), time.Hour); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("error %v, want the remembered one", err)
	}
	if _, err := s.fetch(t.Context(), 0); err != nil {
		t.Errorf("a new try: %v", err)
	}
}
