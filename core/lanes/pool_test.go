package lanes

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// When as many sessions are alive as may be, the one that was not used for the
// longest time makes room.
func TestLeastRecentlyUsedMakesRoom(t *testing.T) {
	play(t, Options{MaxSessions: 2}, func(t *testing.T, w *world) {
		a, b := w.served("a"), w.served("b")
		if w.served("a") != a {
			t.Fatal("a was not kept")
		}
		m := w.submit("hello", in("c"))
		w.after(2 * time.Second)
		if !a.alive() || b.alive() || !b.gentle() {
			t.Errorf("a alive: %v, b alive: %v, gently ended: %v", a.alive(), b.alive(), b.gentle())
		}
		w.serve(m, "ok")
		if n := w.live(); n != 2 {
			t.Errorf("%d sessions", n)
		}
		back := w.submit("hello", in("b"))
		w.after(2 * time.Second)
		if a.alive() {
			t.Error("a was not the next to go")
		}
		again := w.hostOf("b")
		if !again.launch.Resume || again.launch.SessionID != b.launch.SessionID {
			t.Errorf("b was launched as %+v", again.launch)
		}
		again.answer(again.handed()[0], "ok")
		w.wants(back, core.Answered, "", "ok")
	})
}

// When all are busy a message waits, and it is said why.
func TestAllSessionsAreBusy(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		one := w.submit("one", in("a"))
		a := w.hostOf("a")
		updates := w.watching("c")
		two := w.submit("two")
		us := updates.told(core.UpdateQueued)
		if len(us) != 1 || us[0].Message.ID != two.Message.ID || !strings.Contains(us[0].Detail, "All 1 sessions (SESSIONS) are busy") {
			t.Errorf("told %+v", us)
		}
		w.after(time.Hour)
		w.wantsNow(two.Message.ID, core.Waiting, "", "")
		if st := w.status(); st.State != core.StateWaiting || st.Waiting != 1 || !strings.Contains(st.Why, "busy") {
			t.Errorf("status %+v", st)
		}
		three := w.submit("three")
		if w.live() != 1 {
			t.Fatal("another session was started")
		}
		a.answer(a.handed()[0], "ok")
		w.wants(one, core.Answered, "", "ok")
		w.after(2 * time.Second)
		h, id := w.running()
		w.wantTexts(h, "two\n\nthree")
		h.answer(id, "ok")
		w.wants(two, core.Answered, "", "")
		w.wants(three, core.Answered, "", "ok")
	})
}

// Channels get a session in the order in which they asked for one.
func TestSeatsInOrder(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		w.submit("hello", in("a"))
		a := w.hostOf("a")
		keys := []core.ChannelKey{"d", "b", "c"}
		for _, key := range keys {
			w.submit("hello", in(key))
		}
		a.answer(a.handed()[0], "ok")
		for _, key := range keys {
			w.after(2 * time.Second)
			h := w.hostOf(key)
			if w.live() != 1 {
				t.Errorf("%d sessions", w.live())
			}
			h.answer(h.handed()[0], "ok")
		}
	})
}

// A session with background tasks, or that works of its own accord, makes no room.
func TestBusyOtherwise(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]struct{ begin, end func(*fakeHost) }{
		"background task": {func(h *fakeHost) { h.runs(1) }, func(h *fakeHost) { h.runs(0) }},
		"own turn": {
			func(h *fakeHost) { h.say(core.Event{Type: "assistant"}) },
			func(h *fakeHost) { h.results(core.Result{Background: true, Text: "done"}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
				a := w.served("a")
				busy.begin(a)
				synctest.Wait()
				m := w.submit("hello")
				w.after(time.Hour)
				w.wantsNow(m.Message.ID, core.Waiting, "", "")
				if !a.alive() {
					t.Fatal("it was ended")
				}
				busy.end(a)
				w.after(2 * time.Second)
				w.serve(m, "ok")
			})
		})
	}
}

// Sessions of an earlier life count, also when they are more than may be.
func TestSeatsOfEarlierLife(t *testing.T) {
	play(t, Options{MaxSessions: 3}, func(t *testing.T, w *world) {
		for _, key := range []core.ChannelKey{"a", "b", "d"} {
			w.served(key)
		}
		w.m.Detach()
		w.o.MaxSessions = 2
		w.start()
		synctest.Wait()
		m := w.submit("hello")
		w.after(3 * time.Second)
		if n := w.live(); n != 2 {
			t.Errorf("%d sessions", n)
		}
		w.serve(m, "ok")
	})
}

// A turn that an earlier life left without a session waits for one too.
func TestSeatForOpenTurn(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		unblock := w.agent.block("start")
		m := w.submit("one")
		w.crash()
		unblock()
		w.start()
		synctest.Wait()
		w.answer("ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
	})
}

// A wish for a session is given up with the message.
func TestSeatIsWantedNoMore(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		w.submit("one", in("a"))
		a := w.hostOf("a")
		m := w.submit("two")
		if _, err := w.m.Cancel(t.Context(), m.Message.ID); err != nil {
			t.Fatal(err)
		}
		a.answer(a.handed()[0], "ok")
		w.after(time.Hour)
		if !a.alive() {
			t.Error("a was ended for nobody")
		}
	})
}

// A session that could not be started is none.
func TestSeatOfFailedStart(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		w.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "gone"}
		m := w.submit("one", in("a"))
		w.wants(m, core.Failed, "agent_missing", "")
		w.agent.startErr = nil
		w.works()
	})
}

// So is one that dies.
func TestSeatOfDeadSession(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		w.served("a").die()
		w.works()
	})
}

// A session that was asked to make room, and is in use again by then, is kept;
// another one makes room.
func TestSessionInUseMakesNoRoom(t *testing.T) {
	play(t, Options{MaxSessions: 2}, func(t *testing.T, w *world) {
		a, b := w.served("a"), w.served("b")
		la, _ := w.m.lanes.find("a")
		la.post(func() { // it is put to use in the moment in which it is asked
			la.machine.begin(recovering)
			if _, err := w.m.Submit(context.Background(), submission("hello", in("c"))); err != nil {
				t.Error(err)
			}
		})
		w.after(2 * time.Second)
		if !a.alive() || b.alive() {
			t.Errorf("a alive: %v, b alive: %v", a.alive(), b.alive())
		}
		la.post(func() { la.machine.end() })
		w.served("a")
	})
}

// Who was asked to make room waits behind those for whom it did.
func TestRoomIsForThoseWhoAsked(t *testing.T) {
	play(t, Options{MaxSessions: 1}, func(t *testing.T, w *world) {
		w.served("a")
		unblock := w.agent.block("reap")
		first := w.submit("hello", in("c"))
		second := w.submit("hello", in("a"))
		w.after(2 * time.Second)
		unblock()
		w.serve(first, "ok")
		w.undecided(second)
		w.after(2 * time.Second)
		a := w.hostOf("a")
		a.answer(a.handed()[0], "ok")
		w.wants(second, core.Answered, "", "ok")
	})
}
