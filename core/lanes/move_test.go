package lanes

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// moving moves channel c to d and returns what becomes of that.
func (w *world) moving() <-chan error {
	done := make(chan error, 1)
	m := w.m
	go func() { done <- m.Move(w.t.Context(), "c", "d") }()
	synctest.Wait()
	return done
}

func (w *world) moved(done <-chan error) {
	w.t.Helper()
	w.after(3 * time.Second)
	select {
	case err := <-done:
		if err != nil {
			w.t.Fatal(err)
		}
	default:
		w.t.Fatal("the channel has not been moved")
	}
}

// runningOn returns the newest turn of a channel's host.
func (w *world) runningOn(key core.ChannelKey) (*fakeHost, core.TurnID) {
	w.t.Helper()
	h := w.hostOf(key)
	turns := h.handed()
	return h, turns[len(turns)-1]
}

// A turn ends on the old key; what waits, the session, settings, rules and questions go
// to the new one, before what came there.
func TestMove(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		w.set("haiku", "")
		w.addRule("c", "Read", "")
		cut, h, id := w.begun("cut")
		h.tool(id)
		h.exit(core.Exit{Text: "killed"})
		w.after(2 * time.Second)
		w.wants(cut, core.Failed, core.CodeInterrupted, "")
		question := w.pending(1)[0]

		one, h, id := w.begun("one")
		session := h.launch.SessionID
		two, three := w.submit("two"), w.submit("three")
		if err := w.m.RunNow(t.Context(), three.Message.ID); err != nil {
			t.Fatal(err)
		}
		done := w.moving()
		early := w.submit("early", in("d"))
		late := w.submit("late")
		w.undecided(one, two, three, early, late)
		h.aborts(id)
		w.moved(done)
		w.wants(one, core.Cancelled, core.CodeInterrupted, "")

		d, id := w.runningOn("d")
		w.wantTexts(d, "three\n\ntwo\n\nlate\n\nearly")
		if l := d.launch; !l.Resume || l.SessionID != session || l.Settings.Model != "haiku" || len(l.Settings.Rules) != 1 {
			t.Errorf("the new channel launched %+v", l)
		}
		d.answer(id, "all")
		w.wants(early, core.Answered, "", "all")
		if got := w.wantsNow(three.Message.ID, core.Answered, "", ""); got.Channel != "d" {
			t.Errorf("a message that was moved is on %q", got.Channel)
		}
		if got := w.wantsNow(one.Message.ID, core.Cancelled, core.CodeInterrupted, ""); got.Channel != "c" {
			t.Errorf("a message with an outcome is on %q", got.Channel)
		}
		if s := w.m.ChannelSettings.Settings("c"); s.Fingerprint() != "" {
			t.Errorf("the old channel has %+v", s)
		}
		if a := w.pending(1)[0]; a.ID != question.ID || a.Channel != "d" {
			t.Errorf("question is %+v", a)
		}
		if _, err := w.m.Decider.Decide(t.Context(), question.ID, core.Decision{Allow: true}); err != nil {
			t.Fatal(err)
		}
		d, id = w.runningOn("d")
		d.answer(id, "gone on")
		w.moved(w.moving())
		w.restart()
		w.moved(w.moving())
		if !w.sessions.has("d", session) || w.sessions.has("c", session) {
			t.Errorf("sessions are %v", w.sessions.All())
		}
		if c := w.served("c").launch; c.SessionID == session || c.Resume {
			t.Errorf("the old channel launched %+v", c)
		}
	})
}

// A channel that has had turns keeps its conversation.
func TestMoveToChannelWithTurns(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		d := w.served("d")
		_, h, id := w.begun("one")
		two := w.submit("two")
		done := w.moving()
		h.result("1", id)
		h.done(id)
		w.moved(done)
		if now, id := w.runningOn("d"); now != d {
			t.Errorf("its session was replaced by %+v", now.launch)
		} else {
			d.answer(id, "2")
		}
		w.wants(two, core.Answered, "", "2")
		if all := w.sessions.All(); len(all) != 1 || all["d"] != d.launch.SessionID {
			t.Errorf("sessions are %v", all)
		}
		if h.alive() {
			t.Error("the old channel's process lives")
		}
	})
}

// A session that another channel has, but no turn, is given up for the one that comes.
func TestMoveToChannelWithoutTurns(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		session := w.served("c").launch.SessionID
		if err := w.sessions.Set("d", "00000000-0000-4000-8000-000000000000"); err != nil {
			t.Fatal(err)
		}
		w.moved(w.moving())
		if l := w.served("d").launch; l.SessionID != session || !l.Resume {
			t.Errorf("the new channel launched %+v", l)
		}
	})
}

// Whatever has been written when the gateway is killed: nothing is lost, nothing runs
// twice, and the conversation goes on where the messages are.
func TestMoveAndCrash(t *testing.T) {
	t.Parallel()
	for _, file := range []bool{false, true} { // the session file can be written
		for steps := range 6 {
			t.Run(fmt.Sprint(steps, file), func(t *testing.T) {
				t.Parallel()
				play(t, Options{}, func(t *testing.T, w *world) {
					one, h, id := w.begun("one")
					session := h.launch.SessionID
					two := w.submit("two")
					w.moving()
					three := w.submit("three", in("d"))
					if !file {
						w.sessions.fail(core.ErrStorage)
					}
					w.ledger.hold()
					h.result("1", id)
					h.done(id)
					for range steps {
						w.ledger.step(1)
						w.after(time.Second)
					}
					w.crash()
					w.ledger.release()
					w.sessions.fail(nil)
					w.start()
					w.after(10 * time.Second)
					w.wantsNow(one.Message.ID, core.Answered, "", "1")
					got := w.wantsNow(two.Message.ID, core.Running, "", "")
					if moved := len(w.ledger.moves) > 0; moved != (got.Channel == "d") {
						t.Errorf("the move is on record: %v, the message on %q", moved, got.Channel)
					}
					now, last := w.runningOn(got.Channel)
					if l := now.launch; l.SessionID != session {
						t.Errorf("the message runs on %q in another conversation: %+v", got.Channel, l)
					}
					now.answer(last, "2")
					if d, other := w.runningOn("d"); other != last {
						d.answer(other, "3")
					}
					w.wantsNow(three.Message.ID, core.Answered, "", "")
					w.wantsNow(two.Message.ID, core.Answered, "", "")
				})
			})
		}
	}
}

// What waits is cancelled and amended while it is on its way, or it is told that this
// came too late.
func TestMoveAndChanges(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 100, 250, 310, 400, 550, 610, 1000} {
		play(t, Options{}, func(t *testing.T, w *world) {
			_, h, id := w.begun("one")
			two, three := w.submit("two"), w.submit("three")
			w.ledger.slow(300 * time.Millisecond)
			done := w.moving()
			h.result("1", id)
			h.done(id)
			w.after(time.Duration(at) * time.Millisecond)
			var amended, cancelled error
			go func() { amended = w.m.Amend(t.Context(), three.Message.ID, core.Content{Text: "THREE"}) }()
			go func() { _, cancelled = w.m.Cancel(t.Context(), two.Message.ID) }()
			w.after(5 * time.Second)
			w.ledger.slow(0)
			w.moved(done)
			d, id := w.runningOn("d")
			d.answer(id, "3")
			want := "three"
			if amended == nil {
				want = "THREE"
			} else {
				w.wantErr(amended, core.ErrNotWaiting)
			}
			if got := w.wants(three, core.Answered, "", "3"); got.Content.Text != want {
				t.Errorf("after %dms: it was amended: %v, and is %q", at, amended, got.Content.Text)
			}
			if got := w.outcome(two); (got.State == core.Cancelled) != (cancelled == nil) {
				t.Errorf("after %dms: it was cancelled: %v, and is %s", at, cancelled, got.State)
			}
			if at < 300 && (amended != nil || cancelled != nil) {
				t.Errorf("after %dms: %v, %v", at, amended, cancelled)
			}
		})
	}
}

// A channel that has been away counts what was spent meanwhile once.
func TestMoveThereAndBackCountsOnce(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		spends := func(key core.ChannelKey, r core.Result) {
			t.Helper()
			m := w.submit("go on", in(key))
			h, id := w.runningOn(key)
			r.Turns, r.SessionID = []core.TurnID{id}, h.launch.SessionID
			h.begin(id)
			h.results(r)
			h.done(id)
			w.outcome(m)
		}
		// Being parked, the lane stays when its session has gone.
		spends("c", core.Result{IsError: true, Code: core.CodeUsageLimit, Error: "limit", TotalCost: 1, Cost: 1})
		w.moved(w.moving())
		spends("d", core.Result{Text: "ok", TotalCost: 3, Cost: 2})
		if err := w.m.Move(t.Context(), "d", "c"); err != nil {
			t.Fatal(err)
		}
		spends("c", core.Result{Text: "ok", TotalCost: 4, Cost: 1})
		if got := w.m.Directory.Spending().Spent; got != 4 {
			t.Errorf("%v is counted of 4 that were spent", got)
		}
	})
}

// A turn that has to end first gets the seat of the channel that waits for its end.
func TestMoveGivesUpSeat(t *testing.T) {
	t.Parallel()
	play(t, Options{MaxSessions: 2}, func(t *testing.T, w *world) {
		cut, h, _ := w.begun("cut")
		w.submit("runs", in("d"))
		d, id := w.runningOn("d")
		d.begin(id)
		w.crash()
		h.die()
		w.o.MaxSessions = 1
		w.start()
		w.after(time.Second)
		done := w.moving()
		late := w.submit("late", in("d"))
		d.answer(id, "ok")
		w.after(time.Minute)
		c, id := w.runningOn("c")
		c.answer(id, "at last")
		w.wantsNow(cut.Message.ID, core.Answered, "", "at last")
		w.moved(done)
		d, id = w.runningOn("d")
		d.answer(id, "yes")
		w.wants(late, core.Answered, "", "yes")
	})
}

// A channel that was moved to and fro, and has a session of its own by now, keeps it
// when the next process looks at the moves again.
func TestMoveThereAndBackKeepsSessions(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(t *testing.T, w *world) {
		session := w.served("c").launch.SessionID
		w.moved(w.moving())
		if err := w.m.Move(t.Context(), "d", "c"); err != nil {
			t.Fatal(err)
		}
		d := w.served("d")
		own := d.launch.SessionID
		d.die() // else it would tell whose it is
		w.after(time.Second)
		w.restart()
		if !w.sessions.has("c", session) || !w.sessions.has("d", own) {
			t.Errorf("sessions are %v, want %s on c and %s on d", w.sessions.All(), session, own)
		}
	})
}
