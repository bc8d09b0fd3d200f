// Package npm fetches programs of other people with npm, against which tests hold the gateway.
package npm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"bareclaw/internal/testkit/realclaude"
)

// Modules returns a node_modules directory with what the package-lock.json among the files
// names, checked by npm against the checksums there, with none of the scripts run. It is
// fetched once, and kept under the name.
//
// Where npm is missing or reaches nothing, the test is skipped, unless the environment
// variable require is 1.
func Modules(t testing.TB, name string, files fs.FS, require string) string {
	t.Helper()
	lock, err := fs.ReadFile(files, "package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := fetch(t, fmt.Sprintf("%s-%.8x", name, sha256.Sum256(lock)), files)
	if err == nil {
		return modules
	}
	if os.Getenv(require) == "1" {
		t.Fatal(err)
	}
	t.Skipf("cross-checks with %s SKIPPED: %v", name, err)
	return ""
}

// Node returns the path of a Node.js that runs modules: one of the modules if they have a Node.js for
// this machine, else that of the machine.
func Node(modules string) string {
	found, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	if len(found) == 0 {
		return "node" // on macOS
	}
	return found[0]
}

func fetch(t testing.TB, name string, from fs.FS) (modules string, err error) {
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
func install(t testing.TB, from fs.FS, dir string) (err error) {
	temp := dir + ".tmp" // also what an interrupted try left
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := os.CopyFS(temp, from); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return os.Rename(temp, dir)
}
