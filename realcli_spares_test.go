package main

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
	g.eventually("the spare is promised", func() bool { return len(m.glob("state/hosts/*.reserved")) == 1 })
	m.slay(spare.host())
	g.outcome(id).want(t, "all the same")
	m.gone(spare.claude())
	g.mentions(g.say("http", "history"), "echo all the same")
	g.balanced()
}

// TestRealFirstAnswer prints how long a message takes from the request to its
// answer: the first one of a new channel, with and without a spare, and the second
// one. The figures are in docs/performance.md.
func TestRealFirstAnswer(t *testing.T) {
	t.Parallel()
	const channels = 10
	for _, spares := range []int{0, 1} {
		t.Run(fmt.Sprint(spares, " spares"), func(t *testing.T) {
			m := newRealMachine(t, fmt.Sprint("BARECLAW_WARM_SPARES=", spares))
			g := m.start()
			var first, second, third []time.Duration
			for c := range channels {
				channel := fmt.Sprint("c", c)
				g.spareReady(spares)
				for _, took := range []*[]time.Duration{&first, &second, &third} {
					began := time.Now()
					g.say(channel, "echo hello").want(t, "hello")
					*took = append(*took, time.Since(began))
				}
				g.must("DELETE", "/channels/"+channel, nil, 200)
			}
			report := func(what string, took []time.Duration) {
				slices.Sort(took)
				t.Logf("%d spares, %s message of a channel: median %s, worst of %d %s", spares, what,
					took[len(took)/2].Round(time.Millisecond), len(took), took[len(took)-1].Round(time.Millisecond))
			}
			report("first", first)
			report("second", second)
			report("third", third)
			g.balanced()
		})
	}
}
