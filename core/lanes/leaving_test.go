package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// TestDecidedWhileLeaving has the gateway leave while a decision is being written: the agent
// hears of it, and nobody is asked again.
func TestDecidedWhileLeaving(t *testing.T) {
	play(t, Options{Approvals: ApprovalsAsk}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		w.ledger.slow(time.Second)
		decided := make(chan error, 1)
		go func() {
			_, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
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
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
	})
}

// TestAcceptedWhileLeaving has the gateway leave while messages are being written, however
// long that takes: each is accepted, by the process that leaves, and has one outcome.
func TestAcceptedWhileLeaving(t *testing.T) {
	t.Parallel()
	for _, sync := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second} {
		t.Run(sync.String(), func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				w.begun("one") // the next one waits, and is written by itself
				w.ledger.slow(sync)
				type accepted struct {
					t   *core.Ticket
					err error
				}
				waiting, first := make(chan accepted, 1), make(chan accepted, 1)
				go func() {
					t, err := w.m.Submit(t.Context(), core.Submission{Channel: "c", Content: core.Content{Text: "two"}})
					waiting <- accepted{t, err}
				}()
				go func() {
					t, err := w.m.Submit(t.Context(), core.Submission{Channel: "d", Content: core.Content{Text: "three"}})
					first <- accepted{t, err}
				}()
				synctest.Wait()
				w.detach()
				for _, told := range []chan accepted{waiting, first} {
					if a := <-told; a.err != nil {
						t.Errorf("a message that was written is told as: %v", a.err)
					} else if _, err := w.ledger.Message(t.Context(), a.t.Message.ID); err != nil {
						t.Errorf("a message that was accepted: %v", err)
					}
				}
			})
		})
	}
}
