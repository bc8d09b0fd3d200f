package realclaude

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
)

// A new channel gets the claude that waits; its session is found again after host
// and claude were killed.
func TestRealSpareAnswersNewChannel(t *testing.T) {
	m, g := harness.StartReal(t, "BARECLAW_WARM_SPARES=1")
	spare := g.SpareReady(1)[0]
	first := g.Say("http", "echo one")
	first.Want(t, "one")
	if pid := int(g.Agent("http")); pid != spare.ClaudePID {
		t.Errorf("claude %d answers, the spare was %d", pid, spare.ClaudePID)
	}
	m.Slay(spare.Host())
	m.Gone(spare.Claude())
	again := g.Say("http", "history")
	g.Mentions(again, "echo one", "assistant text: one")
	if again.Str("session_id") != first.Str("session_id") {
		t.Errorf("session %s after that, %s before", again.Str("session_id"), first.Str("session_id"))
	}
	g.SpareReady(1)
	g.Balanced()
}

// TestRealFirstAnswer prints how long messages take from the request to the answer:
// the first ones of a new channel, without and with a spare. The two take turns,
// and nothing starts meanwhile. The figures of a long run are in docs/performance.md.
func TestRealFirstAnswer(t *testing.T) {
	t.Parallel()
	if !harness.Soak() {
		t.Skip("a measurement, which the long runs make")
	}
	const messages, channels = 3, 10
	var gateways []*harness.RealGateway
	for spares := range 2 {
		gateways = append(gateways, harness.NewRealMachine(t, fmt.Sprint("BARECLAW_WARM_SPARES=", spares)).Start())
	}
	var took [2][messages][]time.Duration
	for c := range channels {
		channel := fmt.Sprint("c", c)
		gateways[1].SpareReady(1)
		for spares, g := range gateways {
			for i := range messages {
				began := time.Now()
				g.Say(channel, "echo hello").Want(t, "hello")
				took[spares][i] = append(took[spares][i], time.Since(began))
			}
			g.Must("DELETE", "/channels/"+channel, nil, 200)
		}
	}
	for spares, g := range gateways {
		for i, times := range took[spares] {
			slices.Sort(times)
			t.Logf("%d spares, message %d of a channel: median %d ms, fastest %d ms, slowest %d ms", spares, i+1,
				times[channels/2].Milliseconds(), times[0].Milliseconds(), times[channels-1].Milliseconds())
		}
		g.Balanced()
	}
}
