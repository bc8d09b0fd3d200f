package e2e

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A new channel gets the claude that waits; its session is found again after host
// and claude were killed.
func TestRealSpareAnswersNewChannel(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	spare := g.spareReady(1)[0]
	first := g.say("http", "echo one")
	first.want(t, "one")
	if pid := int(g.agent("http")); pid != spare.ClaudePID {
		t.Errorf("claude %d answers, the spare was %d", pid, spare.ClaudePID)
	}
	m.slay(spare.host())
	m.gone(spare.claude())
	again := g.say("http", "history")
	g.mentions(again, "echo one", "assistant text: one")
	if again.str("session_id") != first.str("session_id") {
		t.Errorf("session %s after that, %s before", again.str("session_id"), first.str("session_id"))
	}
	g.spareReady(1)
	g.balanced()
}

// A spare that is killed when it is promised: the same session is begun by another
// claude, which the CLI takes for a new one.
func TestRealSpareDiesWhenItIsTaken(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t, "BARECLAW_WARM_SPARES=1")
	g := m.start()
	spare := g.spareReady(1)[0]
	m.send(spare.host(), syscall.SIGSTOP)
	id := g.tell("http", "echo all the same")
	m.slay(spare.host())
	g.outcome(id).want(t, "all the same")
	m.gone(spare.claude())
	g.mentions(g.say("http", "history"), "echo all the same")
	g.balanced()
}

// TestRealFirstAnswer prints how long messages take from the request to the answer:
// the first ones of a new channel, without and with a spare. The two take turns,
// and nothing starts meanwhile. The figures are in docs/performance.md.
func TestRealFirstAnswer(t *testing.T) {
	t.Parallel()
	const channels, messages = 10, 3
	var gateways []*realGateway
	for spares := range 2 {
		gateways = append(gateways, newRealMachine(t, fmt.Sprint("BARECLAW_WARM_SPARES=", spares)).start())
	}
	var took [2][messages][]time.Duration
	for c := range channels {
		channel := fmt.Sprint("c", c)
		gateways[1].spareReady(1)
		for spares, g := range gateways {
			for i := range messages {
				began := time.Now()
				g.say(channel, "echo hello").want(t, "hello")
				took[spares][i] = append(took[spares][i], time.Since(began))
			}
			g.must("DELETE", "/channels/"+channel, nil, 200)
		}
	}
	for spares, g := range gateways {
		for i, times := range took[spares] {
			slices.Sort(times)
			t.Logf("%d spares, message %d of a channel: median %d ms, fastest %d ms, slowest %d ms", spares, i+1,
				times[channels/2].Milliseconds(), times[0].Milliseconds(), times[channels-1].Milliseconds())
		}
		g.balanced()
	}
}
