package crash

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestToolOnAFullDisk: a tool begins while the disk is full, the transcript lags behind,
// and everything is killed. It is known all the same, so the tool is not run again.
func TestToolOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_WARM_SPARES=1", "FAKECLAUDE_TRANSCRIPT=late")
	m.SmallDisk("state", "16m")
	g := m.Start()
	spare := g.SpareReady(1)[0]
	m.Freeze(spare.ClaudePID, spare.ClaudeStart)
	id := g.Tell("a", "toolwait "+m.Path("go"))
	m.Eventually("claude has the turn", func() bool {
		return g.Must("GET", "/messages/"+id, nil, 200).Str("state") == "running" && m.Hosts()["a"].ClaudePID > 0
	})
	free := m.Fill("state")
	h := m.Hosts()["a"]
	check.OK(t, proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGCONT))
	m.Eventually("the tool runs", func() bool { return tools(m, "go") == 1 })
	m.Eventually("the host has noted the tool", func() bool { // claude waits for nobody
		return slices.ContainsFunc(m.Glob("state/hosts/*.tools"), func(path string) bool {
			b, err := os.ReadFile(path)
			return err == nil && len(b) > 0
		})
	})
	g.Kill()
	m.Slay(proc.Process{PID: h.PID, Start: h.Start}, proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart})
	free()
	m.Touch("go")
	g = m.Start()
	g.Outcome(id).Failed(t, "interrupted", "not run again")
	if n := tools(m, "go"); n != 1 {
		t.Errorf("the tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}
