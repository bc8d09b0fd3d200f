package lanes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"bareclaw/core"
)

// A waiting is a SubmitAndWait under way.
type waiting struct {
	sending
	hurry chan struct{}
	leave context.CancelCauseFunc
}

// waitingFor hands in a message and waits for its outcome.
func (w *world) waitingFor(text string, change ...func(*core.Submission)) *waiting {
	ctx, leave := context.WithCancelCause(context.Background())
	s := &waiting{hurry: make(chan struct{}), leave: leave}
	go func() {
		s.ticket, s.err = w.m.SubmitAndWait(ctx, submission(text, change...), s.hurry)
		s.over.Store(true)
	}()
	synctest.Wait()
	return s
}

func (w *world) wantOver(s *waiting, want bool) {
	w.t.Helper()
	synctest.Wait()
	if got := s.over.Load(); got != want {
		w.t.Fatalf("over: %v, want %v", got, want)
	}
}

// In a hurry it returns without an outcome, but not before the message is
// accepted.
func TestSubmitAndWaitInAHurry(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.ledger.hold()
		s := w.waitingFor("one")
		close(s.hurry)
		w.wantOver(s, false)
		w.ledger.release()
		w.wantOver(s, true)
		w.undecided(s.ticket)
		w.answer("ok")
		w.outcome(s.ticket)
	})
}

// Who leaves loses nothing but the ticket.
func TestSubmitAndWaitIsLeft(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		s := w.waitingFor("one")
		gone := errors.New("gone")
		s.leave(gone)
		w.wantOver(s, true)
		w.wantErr(s.err, gone)
		w.answer("ok")
		w.after(lazyPause)
		if b, err := w.m.Lookup.Balance(t.Context()); err != nil || b.Answered != 1 {
			t.Errorf("balance %+v, %v", b, err)
		}
	})
}

func TestSubmitAndWait(t *testing.T) {
	scenarios(t, map[string]string{
		"the outcome": `send one wait; one unknown; begin one; one unknown; answer one ok; one answered ok`,
		"refused": `
			with queue=1; send one wait text=""; one refused bad_content; down full; send two wait
			two refused full; up
			send three; begin three; send four wait; four refused queue_full`,
		"detached": `send one wait; detach; one accepted; one open; send late wait; late refused closed`,
	})
}
