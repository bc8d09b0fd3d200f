package http

import (
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// A request that is held through a restart is told as well when its channel is
// parked by the new process. With a higher budget the message runs.
func TestHeldThroughRestartUntilParked(t *testing.T) {
	m, g := harness.Started(t, harness.Noon(), "BARECLAW_DAILY_BUDGET_USD=0.01")
	first := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	behind := g.Hold(harness.Obj{"text": "echo two"})
	g.Queued("http", 1)
	g.Restart()
	m.Touch("go")
	first.Answer(200).Want(t, "waited for "+m.Path("go"))
	a := behind.Answer(202)
	g.ParkedUntil(a, "daily budget")
	if now := g.Must("GET", "/messages/"+a.Str("message_id")+"?wait=1m&until=parked", nil, 200); now.Str("until") != a.Str("until") {
		t.Errorf("a client that asks is told %s", now.Body)
	}
	g.Must("GET", "/messages/"+a.Str("message_id")+"?wait=1m&until=tomorrow", nil, 400)
	g.Signal(syscall.SIGTERM)
	m.Set("BARECLAW_DAILY_BUDGET_USD=1")
	g = m.Start()
	g.Outcome(a.Str("message_id")).Want(t, "two")
	g.Balanced()
}
