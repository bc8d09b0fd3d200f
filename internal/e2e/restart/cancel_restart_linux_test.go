package restart

import (
	"fmt"
	"sync"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestCancelDuringRestarts cancels messages and drops turns while the gateway is
// restarted again and again: who did it is told so, not that it was too late.
func TestCancelDuringRestarts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	held := g.Hold(harness.Obj{"text": "wait " + m.Path("go")})
	m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
	for range 5 {
		var waiting []string
		for i := range 40 {
			waiting = append(waiting, g.Tell("http", fmt.Sprint("echo ", i)))
		}
		generation := g.Generation()
		var all sync.WaitGroup
		for i, id := range waiting {
			all.Go(func() {
				for range i / 4 { // at another moment of the restart each time
					if _, err := g.Do("GET", "/openapi.yaml", nil); err != nil {
						t.Error(err)
					}
				}
				a, err := g.Do("DELETE", "/messages/"+id, nil)
				if err != nil || a.Status != 200 || a.Str("state") != "cancelled" {
					t.Errorf("cancel a message that waits: %v, status %d: %s", err, a.Status, a.Body)
				}
			})
		}
		g.Must("POST", "/restart", nil, 200)
		all.Wait()
		g.Restarted(generation)
	}
	m.Touch("go")
	held.Answer(200).Want(t, "waited for "+m.Path("go"))
	g.Balanced()
}
