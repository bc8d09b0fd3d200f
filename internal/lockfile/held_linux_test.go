package lockfile

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestHeldByAnHeir: a gateway was killed while the process that was to take over hung: who
// has the lock is told, and not the one that is gone.
func TestHeldByAnHeir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := AcquireState(dir)
	check.OK(t, err)
	check.OK(t, lock.Describe(Holder{PID: 1 << 30, Start: 1})) // which nobody is
	heir := exec.Command("sleep", "1000")
	heir.ExtraFiles = []*os.File{lock.File()}
	check.OK(t, heir.Start())
	defer func() { _, _ = heir.Process.Kill(), heir.Wait() }()
	check.OK(t, lock.File().Close())
	if _, err := AcquireState(dir); err == nil || !strings.HasSuffix(err.Error(), "kill "+strconv.Itoa(heir.Process.Pid)) {
		t.Errorf("got %v", err)
	}
}
