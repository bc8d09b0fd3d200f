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

func TestSubmitAndWait(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		s := w.waitingFor("one")
		h, id := w.running()
		h.begin(id)
		w.wantOver(s, false)
		h.answer(id, "ok")
		w.wantOver(s, true)
		w.after(lazyPause)
		w.wants(s.ticket, core.Answered, "", "ok")
	})
}

func TestSubmitAndWaitIsRefused(t *testing.T) {
	play(t, Options{QueueLimit: 1}, func(t *testing.T, w *world) {
		_, err := w.m.SubmitAndWait(t.Context(), submission(""), nil)
		w.wantErr(err, core.ErrBadContent)
		w.ledger.setDown(core.ErrStorageFull)
		s := w.waitingFor("one")
		w.wantOver(s, true)
		w.wantErr(s.err, core.ErrStorageFull)
		w.ledger.setDown(nil)
		w.begun("two", keyed("k", "h"))
		s = w.waitingFor("three")
		w.wantOver(s, true)
		w.wantErr(s.err, core.ErrQueueFull)
	})
}

// A repeated message is waited for by its ticket.
func TestSubmitAndWaitOfDuplicate(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("once", keyed("k", "h"))
		s := w.waitingFor("once", keyed("k", "h"))
		w.wantOver(s, true)
		if s.err != nil || !s.ticket.Existing || s.ticket.Message.ID != m.Message.ID {
			t.Errorf("duplicate: %+v, %v", s.ticket, s.err)
		}
		w.undecided(s.ticket)
		h.answer(id, "ok")
		w.outcome(s.ticket)
	})
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

// A manager that leaves ends the wait of an accepted message without an outcome.
func TestSubmitAndWaitIsDetached(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		s := w.waitingFor("one")
		w.m.Detach()
		w.wantOver(s, true)
		if s.err != nil {
			t.Fatal(s.err)
		}
		w.undecided(s.ticket)
		_, err := w.m.SubmitAndWait(t.Context(), submission("late"), nil)
		w.wantErr(err, core.ErrClosed)
	})
}
