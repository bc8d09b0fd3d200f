package lanes

import (
	"context"
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

func TestAccept(t *testing.T) {
	scenarios(t, map[string]string{
		"what was refused never reaches the agent": `
			down full; send one {by=a|key=k hash=h|steer|interrupt}; one refused full; up; works
			turns "still there?"; tickets 0; accounted answered`,
		"the first turn of a session is refused, whose process starts already": `
			refuse begin storage; send one; one refused storage; send two; recordedin two opens; answer two ok
			two answered ok`,
		"a message is refused while the turn that it was to be part of is frozen": `
			send one two; begin one; refuse accept full; hold; send three; answer one ok; release
			three refused full; two open
			wait 1s; answer two ok; two answered ok; turns one two`,
		"accepted messages wait until their turn can be written": `
			with greeting=hello; send one a b; begin one; result one ok; down full; done one; wait 3s; a open
			b open; up; send c; wait 2s
			answer c ok; a answered into=c; b answered into=c; c answered ok; turns one a,b,c`,
		"a notice outlives the turn that was to carry it": `
			with greeting=hello; refuse begin storage; send one; one refused storage; send two; answer two ok
			two answered ok notices=hello
			send three; answer three ok; three answered ok notices=""`,
		"an outcome is written until the ledger has it": `
			send one; begin one; down storage; answer one ok; one answered ok; wait 1m; up; wait 5s
			one answered ok; works; process 1; kept few`,
		"the id of a session cannot be saved": `
			sessions unsaved; send one; answer one ok; one answered ok notices=session_not_saved`,
	})
}

func TestDuplicate(t *testing.T) {
	scenarios(t, map[string]string{
		"before and after the outcome": `
			send one key=k hash=h; send two text=one key=k hash=h; two existing one; send three key=k hash=other
			three refused key_reused; send behind
			answer one ok; one answered ok; two answered ok; wait 1s; send late text=one key=k hash=h
			late answered ok
			answer behind ok; behind answered ok; turns one behind`,
		"the outcome is not written yet": `
			send one key=k hash=h; begin one; refuse settle storage 3; answer one ok
			send two text=one key=k hash=h; two answered ok`,
		"a repeated message does not interrupt the turn of the first": `
			send one key=k hash=h interrupt; begin one; {up|down full}; send two text=one key=k hash=h interrupt
			two {existing one|refused full}
			up; wait 1300ms; interrupted 0; answer one ok; one answered ok`,
		"a repeated message is waited for by its ticket": `
			send one key=k hash=h; begin one; send two text=one key=k hash=h wait; two existing one; two open
			answer one ok; two answered ok`,
	})
}

// A wait that ends while an outcome is read does not keep the outcome from being told.
func TestWait(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := w.m.Lookup.Wait(ctx, m.Message.ID)
		w.wantErr(err, context.DeadlineExceeded)
		if got.State != core.Running {
			t.Errorf("state = %s, want running", got.State)
		}
		time.AfterFunc(time.Second, func() { h.answer(id, "ok") })
		if got, err = w.m.Lookup.Wait(t.Context(), m.Message.ID); err != nil || got.State != core.Answered {
			t.Errorf("state = %s, %v", got.State, err)
		}
		_, err = w.m.Lookup.Wait(t.Context(), "unknown")
		w.wantErr(err, core.ErrNotFound)
		w.after(time.Second)
		w.ledger.slow(time.Second)
		w.submitting("two") // what it writes is waited for
		if got, err = w.m.Lookup.Wait(ctx, m.Message.ID); err != nil || got.State != core.Answered {
			t.Errorf("state = %s, %v", got.State, err)
		}
	})
}

// An outcome that is known is told before the ledger has the outcome, also to a caller without the time to wait.
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
