package harness

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// versionBefore is the last commit of the version whose records, session hosts and
// undelivered answers have to be taken over.
const versionBefore = "9677d54862fca9a91ba235fac0c70e97cac5ddc8"

// BareclawBefore returns the path of the version before, which is built from the
// repository's history. Where a clone has no history it is fetched; where that fails the
// test is skipped, and fails if BARECLAW_REQUIRE_HISTORY is 1.
func BareclawBefore(t testing.TB) string {
	t.Helper()
	path, err := onceBuilt("bareclaw", versionBefore[:7], buildBefore)
	switch {
	case err == nil:
	case os.Getenv("BARECLAW_REQUIRE_HISTORY") == "1":
		t.Fatalf("the version before must be there in CI: %v", err)
	default:
		t.Skipf("NOT TESTED: what the version before left: %v", err)
	}
	return path
}

func buildBefore(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil // a commit does not change
	}
	if exec.Command("git", "cat-file", "-e", versionBefore+"^{commit}").Run() != nil {
		if out, err := exec.Command("git", "fetch", "-q", "--depth", "1", "origin", versionBefore).CombinedOutput(); err != nil {
			return fmt.Errorf("fetch %s: %w\n%s", versionBefore, err, out)
		}
	}
	dir, err := os.MkdirTemp("", "before")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	unpack := exec.Command("bash", "-o", "pipefail", "-c", `git archive "$1" | tar -x -C "$2"`, "bash", versionBefore, dir)
	if out, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("git archive: %w\n%s", err, out)
	}
	return goBuild(dir, path, nil, "-ldflags", withoutTables, ".")
}
