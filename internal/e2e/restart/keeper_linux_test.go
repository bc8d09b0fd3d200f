package restart

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestKeeperOfItself runs a keeper of a state directory whose lock names the keeper: it
// neither waits for itself nor sends itself signals, but says that the daemon is lost.
func TestKeeperOfItself(t *testing.T) {
	t.Parallel()
	self := harness.Bareclaw(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	const script = `printf '{"pid":%d,"start":%s}' $$ "$(cut -d' ' -f22 /proc/$$/stat)" > "$1/daemon.lock"; exec "$0" keep "$1"`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, self, t.TempDir())
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != harness.ExitFailure || !strings.Contains(said.String(), "the daemon is lost") {
		t.Errorf("exit status %d (%v), and it said %s", code, err, said.String())
	}
}
