package core

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestDecidedWhileLeaving has the gateway leave while a decision is being written: the agent
// hears of it, and nobody is asked again.
func TestDecidedWhileLeaving(t *testing.T) {
	t.Parallel()
	play(t, Options{Approvals: ApprovalsAsk}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.ledger.slow(time.Second)
		decided := make(chan error, 1)
		go func() {
			_, err := w.m.Decide(t.Context(), a.ID, Decision{Allow: true})
			decided <- err
		}()
		synctest.Wait()
		w.restart()
		if answer, ok := h.answered("r1"); !ok || !answer.Allow {
			t.Errorf("answered: %v, with %+v", ok, answer)
		}
		if err := <-decided; err != nil {
			t.Error(err)
		}
		w.pending(0)
		h.result("ok", id)
		w.wantsNow(m.Message.ID, Answered, "", "ok")
	})
}
