// Package npm fetches programs of other people with npm, against which tests hold the gateway.
package npm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"bareclaw/internal/testkit/realclaude"
)

// Modules returns a node_modules directory with what the package-lock.json of a directory
// names, checked by npm against the checksums there, with none of the scripts run. It is
// fetched once, and kept under the name.
//
// Where npm is missing or reaches nothing, the test is skipped, unless the environment
// variable require is 1.
func Modules(t testing.TB, name, dir, require string) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := fetch(t, fmt.Sprintf("%s-%.8x", name, sha256.Sum256(lock)), dir)
	if err == nil {
		return modules
	}
	if os.Getenv(require) == "1" {
		t.Fatal(err)
	}
	t.Skipf("cross-checks with %s SKIPPED: %v", name, err)
	return ""
}

func fetch(t testing.TB, name, from string) (modules string, err error) {
	cache, err := realclaude.CacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err = os.Stat(dir); err != nil {
		err = install(t, from, dir)
	}
	return filepath.Join(dir, "node_modules"), err
}

// install makes the directory appear whole. The caller holds its lock.
func install(t testing.TB, from, dir string) (err error) {
	temp := dir + ".tmp" // also what an interrupted try left
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := os.CopyFS(temp, os.DirFS(from)); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return os.Rename(temp, dir)
}
