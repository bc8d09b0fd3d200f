package lanes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

var errLate = errors.New("too late")

// aliveWithin asks whether the gateway is alive and gives it a second.
func (w *world) aliveWithin() error {
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), time.Second, errLate)
	defer cancel()
	return w.m.Alive(ctx)
}

// What a lane waits for does not make it dead: an agent that is silent, or starts or is
// reaped for ever, a disk that refuses.
func TestAliveWhateverItWaitsFor(t *testing.T) {
	scenarios(t, map[string]string{
		"nothing, and another lane retires": `healthy; works; healthy`,
		"the agent":                         `send one; begin one; wait 1h; healthy`,
		"its start, its end or the host": `
			works; {die; wait 1s; block start; send one|block reap; die|detach; block attach; start}; healthy
			unblock {start|reap|attach}`,
		"the disk": `
			send one; begin one; down full; answer one ok; one answered ok; healthy; up`,
		"a decision": `send one ask; begin one; ask r1; healthy`,
		"to leave":   `works; detach; healthy`,
	})
}

// A lane or a writer that is stuck is named, whoever else answers.
func TestNotAlive(t *testing.T) {
	t.Parallel()
	for name, stick := range map[string]func(w *world) (goOn func()){
		`channel "stuck"`: func(w *world) func() {
			w.works()
			release := make(chan struct{})
			if _, err := w.m.lanes.post("stuck", func(*lane) { <-release }); err != nil {
				w.t.Fatal(err)
			}
			return func() { close(release) }
		},
		"the ledger's writer": func(w *world) func() {
			w.works()
			w.ledger.hold()
			if err := w.aliveWithin(); err != nil { // what it has done before counts once
				w.t.Error(err)
			}
			return w.ledger.release
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				goOn := stick(w)
				if err := w.aliveWithin(); !errors.Is(err, errLate) || !strings.HasPrefix(err.Error(), name) {
					t.Errorf("alive: %v", err)
				}
				goOn()
				synctest.Wait()
				if err := w.aliveWithin(); err != nil {
					t.Errorf("alive: %v", err)
				}
			})
		})
	}
}

// A writer that is slow, with much to do, is alive as long as it finishes something.
func TestAliveOnASlowDisk(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.works()
		w.ledger.slow(1500 * time.Millisecond)
		for range 20 {
			w.m.o.Ledger.Write(core.Change{Records: []*core.Record{{Owner: "o", Key: "k"}}}, func(error) {})
		}
		for range 10 {
			time.Sleep(time.Second)
			if err := w.aliveWithin(); err != nil {
				t.Fatal(err)
			}
		}
		w.ledger.hold()
		time.Sleep(time.Minute) // until all is written
		if err := w.aliveWithin(); err != nil {
			t.Error(err)
		}
		if err := w.aliveWithin(); !errors.Is(err, errLate) {
			t.Errorf("alive: %v", err)
		}
		w.ledger.slow(0)
		w.ledger.release()
	})
}
