package e2e

import (
	"fmt"
	"sync"
	"testing"
)

// TestCancelDuringRestarts cancels messages and drops turns while the gateway is
// restarted again and again: who did it is told so, not that it was too late.
func TestCancelDuringRestarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	held := g.hold(obj{"text": "wait " + m.path("go")})
	m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
	for range 5 {
		var waiting []string
		for i := range 40 {
			waiting = append(waiting, g.tell("http", fmt.Sprint("echo ", i)))
		}
		generation := g.generation()
		var all sync.WaitGroup
		for i, id := range waiting {
			all.Go(func() {
				for range i / 4 { // at another moment of the restart each time
					if _, err := g.do("GET", "/openapi.yaml", nil); err != nil {
						t.Error(err)
					}
				}
				a, err := g.do("DELETE", "/messages/"+id, nil)
				if err != nil || a.status != 200 || a.str("state") != "cancelled" {
					t.Errorf("cancel a message that waits: %v, status %d: %s", err, a.status, a.body)
				}
			})
		}
		g.must("POST", "/restart", nil, 200)
		all.Wait()
		g.restarted(generation)
	}
	m.touch("go")
	held.answer(200).want(t, "waited for "+m.path("go"))
	g.balanced()
}
