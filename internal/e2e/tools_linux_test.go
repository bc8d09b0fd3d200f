package e2e

import (
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// TestToolOnAFullDisk: a tool begins while the disk is full, the transcript lags behind,
// and everything is killed. It is known all the same, so the tool is not run again.
func TestToolOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_WARM_SPARES=1", "FAKECLAUDE_TRANSCRIPT=late")
	m.diskOf("state", "16m")
	g := m.start()
	spare := g.spareReady(1)[0]
	m.freeze(spare.ClaudePID, spare.ClaudeStart)
	id := g.tell("a", "toolwait "+m.path("go"))
	m.eventually("claude has the turn", func() bool {
		return g.must("GET", "/messages/"+id, nil, 200).str("state") == "running" && m.hosts()["a"].ClaudePID > 0
	})
	free := m.fill()
	h := m.hosts()["a"]
	if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	m.eventually("the tool runs", func() bool { return m.tools("go") == 1 })
	g.kill()
	m.kill9(proc.Process{PID: h.PID, Start: h.Start}, proc.Process{PID: h.ClaudePID, Start: h.ClaudeStart})
	free()
	m.touch("go")
	g = m.start()
	g.outcome(id).failed(t, "interrupted", "not run again")
	if n := m.tools("go"); n != 1 {
		t.Errorf("the tool was run %d times", n)
	}
	g.balanced()
	g.endsAll()
}
