package soak

import (
	"fmt"
	"sync"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// maxHeapGrowth is how much more memory a daemon may hold, when it rests, than before it
// did a lot, or than a fresh one. What differs by chance, such as buffers of connections
// and of the ledger's statements, came to some 800 KB at most; a leak of 70 bytes for each
// of the 30,000 messages of a long run is more than this.
const maxHeapGrowth = 2 << 20

// keptUpdates is how many bytes of updates all channels together keep for clients that come
// back (core/feed). A fresh daemon keeps none.
const keptUpdates = 4 << 20

// TestSoakMemory has one daemon do a lot twice, the second time more: what it holds
// when it rests does not grow.
func TestSoakMemory(t *testing.T) {
	t.Parallel()
	rounds := 5
	if harness.Soak() {
		rounds = 500
	}
	g := harness.NewMachine(t, usualGOGC).Start()
	labour(g, "first", rounds)
	before, heapBefore := resting(g), liveHeap(g)
	labour(g, "second", 3*rounds)
	after, heapAfter := resting(g), liveHeap(g)
	t.Logf("the live heap was %.0f and is %.0f bytes", heapBefore, heapAfter)
	if heapAfter > heapBefore+maxHeapGrowth {
		t.Errorf("the live heap was %.0f and is %.0f bytes after %d more messages", heapBefore, heapAfter, 4*5*3*rounds)
	}
	for what, most := range map[string]float64{
		"process_open_fds": before["process_open_fds"] + 8,
		"go_goroutines":    before["go_goroutines"] + 8,
	} {
		t.Logf("%s was %v and is %v", what, before[what], after[what])
		if after[what] > most || after[what] == 0 {
			t.Errorf("%s was %v and is %v, want at most %v", what, before[what], after[what], most)
		}
	}
	g.Balanced()
	g.EndsAll()
}

// labour sends messages of many kinds to some channels, and has them answered.
func labour(g *harness.Gateway, name string, rounds int) {
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := range rounds {
				for _, text := range []string{"echo %s", "tool 0 %s", "events 100\n%s", "big 50000\n%s", "stderr 10000\n%s"} {
					text = fmt.Sprintf(text, fmt.Sprintf("%s-%d-%d", name, c, i))
					a, err := g.Do("POST", "/message", harness.Obj{"channel": fmt.Sprint("c", c), "text": text})
					if err != nil || a.Str("state") != "answered" {
						g.T.Errorf("%q: %v, %.300s", text, err, a.Body)
						return
					}
				}
			}
		})
	}
	clients.Wait()
}

// usualGOGC has the daemon's heap double between two collections, which the daemon would
// otherwise pace itself.
const usualGOGC = "GOGC=100"

// liveHeap returns how many bytes of the heap are in use when the daemon rests. The daemon
// collects twice meanwhile, since it is asked for its metrics until it has; the goal of its
// next collection is then twice what survived, with usualGOGC.
func liveHeap(g *harness.Gateway) float64 {
	g.T.Helper()
	collections := g.Metrics()["go_gc_duration_seconds_count"]
	var m map[string]float64
	g.Eventually("two collections", func() bool {
		m = g.Metrics()
		return m["go_gc_duration_seconds_count"] >= collections+2
	})
	return m["go_memstats_next_gc_bytes"] / 2
}

// resting returns the metrics when nothing is under way.
func resting(g *harness.Gateway) map[string]float64 {
	g.T.Helper()
	g.HTTP.CloseIdleConnections()
	var m map[string]float64
	g.Eventually("the daemon rests", func() bool {
		m = g.Metrics()
		return m["bareclaw_turns_running"] == 0 && m["bareclaw_messages_waiting"] == 0
	})
	return m
}
