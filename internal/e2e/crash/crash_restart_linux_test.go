package crash

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestCrashAtEveryStepOfARestart kills the worker at every step of a restart until it has
// handed over: another worker serves, with the same session.
func TestCrashAtEveryStepOfARestart(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	everyStep(t, func(n int) (killed bool) {
		m := harness.NewMachine(t)
		m.Set(supervisor.CrashVariable + "=")
		g := m.Start()
		claude := g.Say("http", "pid").Str("text")
		generation := g.Generation()
		tr := m.Trace(g.Worker(), fmt.Sprintf("write,writev,sendmsg,sendto:signal=SIGKILL:when=%d", n))
		check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
		g.Restarted(generation)
		tr.Detach()
		if now := g.Say("http", "pid").Str("text"); now != claude {
			t.Errorf("step %d: claude was %s and is %s", n, claude, now)
		}
		g.Balanced()
		g.Kill()
		return !strings.Contains(m.Log.String(), `"msg":"handed over"`)
	})
}
