package main

import (
	"fmt"
	"sync"
	"testing"
)

// TestSoakMemory has one daemon do a lot twice, the second time more: what it holds
// when it rests does not grow.
func TestSoakMemory(t *testing.T) {
	t.Parallel()
	rounds := 5
	if soak() {
		rounds = 500
	}
	g := newMachine(t).start()
	g.labour("first", rounds)
	before := g.resting()
	g.labour("second", 3*rounds)
	after := g.resting()
	for what, most := range map[string]float64{
		"process_open_fds": before["process_open_fds"] + 8,
		"go_goroutines":    before["go_goroutines"] + 8,
		// Twice what was alive at the last collection, whenever in a turn that was.
		"go_memstats_next_gc_bytes": 2*before["go_memstats_next_gc_bytes"] + 8<<20,
	} {
		t.Logf("%s was %v and is %v", what, before[what], after[what])
		if after[what] > most || after[what] == 0 {
			t.Errorf("%s was %v and is %v, want at most %v", what, before[what], after[what], most)
		}
	}
	g.balanced()
	g.endsAll()
}

// labour sends messages of many kinds to some channels, and has them answered.
func (g *gateway) labour(name string, rounds int) {
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := range rounds {
				for _, text := range []string{"echo %s", "tool 0 %s", "events 100\n%s", "big 50000\n%s", "stderr 10000\n%s"} {
					text = fmt.Sprintf(text, fmt.Sprintf("%s-%d-%d", name, c, i))
					a, err := g.do("POST", "/message", obj{"channel": fmt.Sprint("c", c), "text": text})
					if err != nil || a.str("state") != "answered" {
						g.t.Errorf("%q: %v, %.300s", text, err, a.body)
						return
					}
				}
			}
		})
	}
	clients.Wait()
}

// resting returns the metrics when nothing is under way.
func (g *gateway) resting() map[string]float64 {
	g.t.Helper()
	g.http.CloseIdleConnections()
	var m map[string]float64
	g.eventually("the daemon rests", func() bool {
		m = g.metrics()
		return m["bareclaw_turns_running"] == 0 && m["bareclaw_messages_waiting"] == 0
	})
	return m
}
