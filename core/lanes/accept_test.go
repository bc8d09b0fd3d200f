package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

func TestIdleMessageAndTurnAreOneChange(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var changes []core.Change
		w.ledger.watch = func(c core.Change) { changes = append(changes, c) }
		w.submit("hello")
		if len(changes) != 1 || len(changes[0].Accept) != 1 || len(changes[0].Begin) != 1 {
			t.Fatalf("%d changes: %+v", len(changes), changes)
		}
		changes = nil
		w.submit("a possible duplicate", in("d"), keyed("k", "h"))
		if len(changes) != 2 || len(changes[0].Begin) != 0 || len(changes[1].Accept) != 0 {
			t.Errorf("changes of a message with a key: %+v", changes)
		}
	})
}

// What was refused never reaches the agent and leaves nothing.
func TestRefusedForWantOfRoom(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*core.Submission){func(*core.Submission) {}, keyed("k", "h"), mode(core.Steer), mode(core.Interrupt)} {
		playNow(t, Options{}, func(t *testing.T, w *world) {
			w.ledger.setDown(core.ErrStorageFull)
			s := w.submitting("refused", change)
			w.wantErr(s.err, core.ErrStorageFull)
			w.ledger.setDown(nil)
			w.wantTexts(w.works(), "still there?")
			if b, _ := w.m.Lookup.Balance(t.Context()); b.Accepted != 1 {
				t.Errorf("balance %+v, want one accepted message", b)
			}
		})
	}
}

// The first turn of a session fails to be written although its process starts
// already: the next turn is on record for the session it really runs in.
func TestRefusedFirstTurnKeepsSession(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.ledger.fail(core.ErrStorage, 1, begins)
		s := w.submitting("refused")
		w.wantErr(s.err, core.ErrStorage)
		m := w.submit("accepted")
		h, id := w.running()
		turn, err := w.ledger.Turn(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if turn.SessionID != h.launch.SessionID || !turn.Opens || !w.sessions.has("c", turn.SessionID) {
			t.Errorf("turn is recorded in session %s (opens: %v), runs in %s", turn.SessionID, turn.Opens, h.launch.SessionID)
		}
		h.answer(id, "ok")
		w.wants(m, core.Answered, "", "ok")
	})
}

// A message is refused while the turn it was to be part of is being frozen.
func TestAcceptFailsWhileItsTurnIsFrozen(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		waits := w.submit("waits")
		w.ledger.fail(core.ErrStorageFull, 1, accepts)
		w.ledger.hold()
		s := w.submitting("refused")
		h.answer(id, "ok") // frees the lane: both are frozen into a turn
		synctest.Wait()
		w.ledger.release()
		synctest.Wait()
		w.wantErr(s.err, core.ErrStorageFull)
		w.undecided(waits)
		w.after(retryFreeze)
		w.serve(waits, "ok")
		w.wantTexts(h, "one", "waits")
	})
}

// Messages that are accepted already wait until their turn can be written.
func TestFreezeOfAcceptedMessagesFails(t *testing.T) {
	play(t, Options{Greeting: []core.Notice{{Code: "hello"}}}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		a, b := w.submit("a"), w.submit("b")
		h.result("ok", id)
		synctest.Wait()
		w.ledger.setDown(core.ErrStorageFull)
		h.done(id)
		w.after(3 * time.Second)
		w.undecided(a, b)
		w.ledger.setDown(nil)
		c := w.submit("c")
		w.after(2 * time.Second)
		w.answer("ok")
		for _, m := range []*core.Ticket{a, b, c} {
			w.wants(m, core.Answered, "", "")
		}
		w.wantTexts(h, "one", "a\n\nb\n\nc")
	})
}

// A notice is told although the first turn that was to carry it was not written.
func TestNoticeSurvivesFailedFreeze(t *testing.T) {
	play(t, Options{Greeting: []core.Notice{{Code: "hello"}}}, func(t *testing.T, w *world) {
		w.ledger.fail(core.ErrStorage, 1, begins)
		w.wantErr(w.submitting("refused").err, core.ErrStorage)
		for _, want := range [][]string{{"hello"}, nil} {
			m := w.submit("next")
			w.answer("ok")
			if got := codes(w.wants(m, core.Answered, "", "ok").Reply.Notices); !slices.Equal(got, want) {
				t.Errorf("notices = %v, want %v", got, want)
			}
		}
	})
}

func TestOutcomeIsWrittenUntilItIsKept(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.setDown(core.ErrStorage)
		h.answer(id, "ok")
		if got := w.outcome(m); got.State != core.Answered {
			t.Errorf("outcome is %+v", got)
		}
		// Whoever asks now is told the same, although the ledger does not know yet.
		for name, ask := range map[string]func() (core.Message, error){
			"Message": func() (core.Message, error) { return w.m.Lookup.Message(t.Context(), m.Message.ID) },
			"Wait":    func() (core.Message, error) { return w.m.Lookup.Wait(t.Context(), m.Message.ID) },
		} {
			if got, err := ask(); err != nil || got.State != core.Answered {
				t.Errorf("%s: state %s, %v", name, got.State, err)
			}
		}
		w.after(time.Minute)
		w.ledger.setDown(nil)
		w.after(saveRetry)
		w.wants(m, core.Answered, "", "ok")
		if w.works() != h {
			t.Error("another process answers")
		}
		if h.kept() > ackEvery {
			t.Errorf("%d events are kept", h.kept())
		}
	})
}

// A change that contradicts the record is not tried for ever.
func TestContradictionIsNotRetried(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		w.agent.lax = true
		tries := 0
		w.ledger.watch = func(core.Change) { tries++ }
		w.ledger.fail(errContradiction, 1000, settles)
		h.answer(id, "ok")
		w.after(time.Minute)
		if tries != 1 {
			t.Errorf("tried %d times", tries)
		}
		w.ledger.forget()
		w.works()
	})
}

func TestDuplicates(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var all []*sending
		for range 5 {
			all = append(all, w.submitting("once", keyed("k", "h")))
		}
		first := all[0].ticket
		for i, s := range all {
			if s.err != nil || s.ticket.Message.ID != first.Message.ID || s.ticket.Existing != (i > 0) {
				t.Errorf("submission %d: %+v, %v", i, s.ticket, s.err)
			}
		}
		w.wantErr(w.submitting("twice", keyed("k", "other")).err, core.ErrKeyReused)
		behind := w.submit("behind")
		h, id := w.running()
		h.answer(id, "ok")
		for _, s := range all {
			w.wants(s.ticket, core.Answered, "", "ok")
		}
		w.after(time.Second) // until the outcome is only in the ledger
		late := w.submit("once", keyed("k", "h"))
		w.wants(late, core.Answered, "", "ok")
		w.serve(behind, "ok")
		w.wantTexts(h, "once", "behind")
	})
}

func TestConcurrentDuplicates(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.begun("running")
		all := make([]*sending, 50)
		for i := range all {
			s := &sending{}
			all[i] = s
			go func() {
				s.ticket, s.err = w.m.Submit(t.Context(), submission("x", keyed(fmt.Sprint("k", i%5), "h")))
			}()
		}
		synctest.Wait()
		ids := map[core.MessageID]int{}
		for i, s := range all {
			if s.err != nil {
				t.Fatalf("submission %d: %v", i, s.err)
			}
			ids[s.ticket.Message.ID]++
		}
		if len(ids) != 5 {
			t.Errorf("accepted as %v, want 5 messages", ids)
		}
		if n := len(w.m.tickets.open); n != 6 {
			t.Errorf("%d tickets are open, want 6", n)
		}
	})
}

// A duplicate is told the truth about a message whose outcome is not durable.
func TestDuplicateOfUnwrittenOutcome(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("once", keyed("k", "h"))
		w.ledger.fail(core.ErrStorage, 3, settles)
		h.answer(id, "ok")
		synctest.Wait()
		s := w.submitting("once", keyed("k", "h"))
		if s.err != nil {
			t.Fatal(s.err)
		}
		if got := w.outcome(s.ticket); got.State != core.Answered {
			t.Errorf("duplicate is told %s", got.State)
		}
	})
}

// A repeated delivery does not interrupt the turn of the first one.
func TestDuplicateDoesNotInterrupt(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"duplicate": nil, "disk full": core.ErrStorageFull} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("once", keyed("k", "h"), mode(core.Interrupt))
				if refusal != nil {
					w.ledger.setDown(refusal)
				}
				s := w.submitting("once", keyed("k", "h"), mode(core.Interrupt))
				if !errors.Is(s.err, refusal) {
					t.Errorf("error = %v, want %v", s.err, refusal)
				}
				w.ledger.setDown(nil)
				w.after(interruptGrace)
				if h.interrupted() != 0 {
					t.Error("the turn was interrupted")
				}
				h.answer(id, "ok")
				w.wants(m, core.Answered, "", "ok")
			})
		})
	}
}

// An id that cannot be saved is told, and nothing else comes of it.
func TestSessionNotSaved(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.sessions.err = errors.New("disk is gone")
		m := w.submit("one")
		w.answer("ok")
		if got := codes(w.wants(m, core.Answered, "", "ok").Reply.Notices); !slices.Equal(got, []string{"session_not_saved"}) {
			t.Errorf("notices = %v", got)
		}
	})
}

// A wait that ends while an outcome is read does not keep it from being told.
func TestWaitEndsWhileReading(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.answer(id, "1")
		w.wants(m, core.Answered, "", "1")
		w.ledger.slow(time.Second)
		other := w.submitting("two") // what it writes is waited for
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		got, err := w.m.Lookup.Wait(ctx, m.Message.ID)
		if err != nil {
			t.Fatalf("wait: %v", err)
		}
		w.wantsReply(got, core.Answered, "", "1")
		w.after(5 * time.Second)
		if !other.over.Load() {
			t.Error("the other message is not accepted")
		}
	})
}

// An outcome that is there is returned also to whoever has no time to wait for it, and
// before the ledger has it.
func TestOutcomeInNoTime(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.hold()
		h.answer(id, "yes")
		synctest.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 { // a select takes either of two that are ready
			if got, err := w.m.Lookup.Wait(over, m.Message.ID); err != nil || got.State != core.Answered {
				t.Fatalf("it is %s, %v", got.State, err)
			}
		}
	})
}

// A message whose acceptance is known at the last moment at which the gateway waits for
// that is accepted.
func TestAcceptedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for range 20 { // a select takes either of two that are ready
		playNow(t, Options{}, func(t *testing.T, w *world) {
			w.works()
			l, _ := w.m.lanes.find("c")
			w.ledger.hold()
			s := w.submitting("one")
			left := make(chan struct{})
			go func() {
				defer close(left)
				w.m.Detach()
			}()
			synctest.Wait()
			release := make(chan struct{})
			l.post(func() { <-release })
			synctest.Wait()
			w.ledger.release()
			w.after(time.Minute)
			close(release)
			<-left
			if synctest.Wait(); !s.over.Load() || s.err != nil {
				t.Errorf("it is refused: %v", s.err)
			}
		})
	}
}
