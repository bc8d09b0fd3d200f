package lockfile

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestHeldByAnHeir: a gateway was killed while the process that was to take over hung: who
// has the lock is told, and not the one that is gone.
func TestHeldByAnHeir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := AcquireState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Describe(Holder{PID: 1 << 30, Start: 1}); err != nil { // which nobody is
		t.Fatal(err)
	}
	heir := exec.Command("sleep", "1000")
	heir.ExtraFiles = []*os.File{lock.File()}
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = heir.Process.Kill(), heir.Wait() }()
	if err := lock.File().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := AcquireState(dir); err == nil || !strings.HasSuffix(err.Error(), "kill "+strconv.Itoa(heir.Process.Pid)) {
		t.Errorf("got %v", err)
	}
}
