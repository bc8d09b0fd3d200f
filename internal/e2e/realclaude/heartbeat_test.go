package realclaude

import (
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestRealHeartbeatBeginsAfresh: what a tick sends to the model does not hold the ticks
// before it, and clearing the session asks the model nothing.
func TestRealHeartbeatBeginsAfresh(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK")
	for slot := range 3 {
		m.With(harness.SlotLength(slot)).Beat(0)
		if slot == 1 {
			g.Crash("heartbeat") // and so the session is resumed to be cleared
			g = m.Start()
		}
	}
	if got := m.Outcomes(); got != "ok, ok, ok" {
		t.Errorf("outcomes: %s", got)
	}
	seen := m.Requests()
	if len(seen) != 3 {
		t.Errorf("%d requests to the model, want one for each tick", len(seen))
	}
	for _, s := range seen {
		beats := slices.DeleteFunc(slices.Clone(s.UserTexts), func(text string) bool { return !strings.Contains(text, "echo HEARTBEAT_OK") })
		if len(beats) != 1 {
			t.Errorf("request %d holds %d ticks: %q", s.N, len(beats), s.UserTexts)
		}
	}
	g.Balanced()
}
