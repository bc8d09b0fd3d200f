package lanes

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

const idleTimeout = 30 * time.Minute

// live returns how many session processes there are.
func (w *world) live() int {
	w.agent.mu.Lock()
	defer w.agent.mu.Unlock()
	return len(w.agent.hosts)
}

// served plays one turn of a channel.
func (w *world) served(key core.ChannelKey) *fakeHost {
	w.t.Helper()
	m := w.submit("hello", in(key))
	h := w.hostOf(key)
	ids := h.handed()
	h.answer(ids[len(ids)-1], "ok")
	w.wants(m, core.Answered, "", "ok")
	return h
}

// A session that nobody uses is ended; the next message resumes it.
func TestUnusedSessionEnds(t *testing.T) {
	play(t, Options{IdleTimeout: idleTimeout}, func(t *testing.T, w *world) {
		h := w.served("c")
		w.after(idleTimeout - time.Second)
		if h2 := w.served("c"); h2 != h {
			t.Fatal("it was ended although it was in use")
		}
		w.after(idleTimeout - time.Second)
		if !h.alive() {
			t.Fatal("it was ended too early")
		}
		w.after(time.Second)
		if !h.gentle() {
			t.Error("it was not ended gently")
		}
		w.after(2 * time.Second)
		if h.alive() {
			t.Fatal("it was not ended")
		}
		if st := w.status(); st.State != core.StateIdle || st.SessionID != h.launch.SessionID {
			t.Errorf("status %+v", st)
		}
		next := w.served("c").launch
		if !next.Resume || next.SessionID != h.launch.SessionID {
			t.Errorf("the next message launched %+v after %+v", next, h.launch)
		}
	})
}

func TestIdleNever(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.served("c")
		w.after(10000 * time.Hour)
		if !h.alive() {
			t.Error("it was ended")
		}
	})
}

// What a session is still needed for keeps it.
func TestIdleSessionIsNeeded(t *testing.T) {
	t.Parallel()
	for name, need := range map[string]func(w *world, h *fakeHost) (over func()){
		"a turn": func(w *world, h *fakeHost) func() {
			_, _, id := w.begun("long")
			return func() { h.result("ok", id); h.done(id) }
		},
		"an approval": func(w *world, h *fakeHost) func() {
			h.ask("r", "Bash")
			return func() { h.say(core.Event{Kind: core.RequestGone, Request: &core.Request{ID: "r"}}) }
		},
		"background tasks": func(w *world, h *fakeHost) func() {
			h.runs(2)
			h.runs(1)
			return func() { h.runs(0) }
		},
		"background tasks of an earlier life": func(w *world, h *fakeHost) func() {
			h.runs(1)
			synctest.Wait()
			h.say(core.Event{Type: "system"})
			for range ackEvery {
				h.say(core.Event{Type: "system"})
			}
			w.restart()
			return func() { h.runs(0) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{IdleTimeout: idleTimeout, Approvals: ApprovalsAsk, ApprovalTimeout: 100 * time.Hour}
			play(t, o, func(t *testing.T, w *world) {
				h := w.served("c")
				over := need(w, h)
				w.after(5 * idleTimeout)
				if !h.alive() || h.gentle() {
					t.Fatal("it was ended")
				}
				over()
				w.after(idleTimeout - time.Second)
				if h.gentle() {
					t.Error("it was ended too early")
				}
				w.after(time.Minute)
				if h.alive() {
					t.Error("it was not ended")
				}
			})
		})
	}
}

// A message that comes while the session ends waits for that, and is served by
// the next one.
func TestMessageWhileSessionEnds(t *testing.T) {
	play(t, Options{IdleTimeout: idleTimeout}, func(t *testing.T, w *world) {
		h := w.served("c")
		unblock := w.agent.block("reap")
		w.after(idleTimeout)
		one := w.submit("one")
		w.wantsNow(one.Message.ID, core.Waiting, "", "")
		if st := w.status(); st.State != core.StateEnding || st.Waiting != 1 {
			t.Errorf("status %+v", st)
		}
		w.after(2 * time.Second)
		two := w.submit("two")
		unblock()
		next, id := w.running()
		if next == h {
			t.Fatal("the ending process was given a turn")
		}
		w.wantTexts(next, "one\n\ntwo")
		next.answer(id, "ok")
		w.wants(one, core.Answered, "", "")
		w.wants(two, core.Answered, "", "ok")
	})
}

// The session of an earlier life is ended too, and so is a session after a life
// in which it was already asked to end.
func TestIdleAfterRestart(t *testing.T) {
	play(t, Options{IdleTimeout: idleTimeout}, func(t *testing.T, w *world) {
		h := w.served("c")
		w.restart()
		w.after(idleTimeout)
		w.crash()
		w.start()
		w.after(idleTimeout)
		w.after(time.Minute)
		if h.alive() {
			t.Error("it was not ended")
		}
		w.works()
	})
}

// A thousand channels that are known cost neither processes nor goroutines.
func TestLanesRetire(t *testing.T) {
	greeting := []core.Notice{{Code: "hello", Text: "Hello."}}
	play(t, Options{IdleTimeout: idleTimeout, Greeting: greeting}, func(t *testing.T, w *world) {
		key := func(i int) core.ChannelKey { return core.ChannelKey(fmt.Sprint("c", i)) }
		for i := range 1000 {
			w.served(key(i))
		}
		if s := w.m.Directory.Stats(); s.Lanes != 1000 {
			t.Errorf("%d lanes", s.Lanes)
		}
		w.after(idleTimeout)
		w.after(time.Minute)
		if s := w.m.Directory.Stats(); s.Lanes != 0 || s.Sessions != 0 || w.live() != 0 {
			t.Errorf("%d lanes, %d sessions, %d processes are left", s.Lanes, s.Sessions, w.live())
		}
		all, err := w.m.Directory.Channels(t.Context())
		if err != nil || len(all) != 1000 || all[0].State != core.StateIdle || all[0].SessionID == "" {
			t.Errorf("channels: %d, first %+v, %v", len(all), all[0], err)
		}
		m := w.submit("again", in(key(7)))
		h := w.hostOf(key(7))
		h.answer(h.handed()[0], "ok")
		if got := w.wants(m, core.Answered, "", "ok"); len(got.Reply.Notices) != 0 {
			t.Errorf("greeted again: %+v", got.Reply.Notices)
		}
		if !h.launch.Resume {
			t.Errorf("launched as %+v", h.launch)
		}
	})
}

// Whatever is asked of a channel just when its lane retires is answered.
func TestAskedWhileRetiring(t *testing.T) {
	play(t, Options{IdleTimeout: idleTimeout}, func(t *testing.T, w *world) {
		m := w.submit("one")
		w.answer("ok")
		l, _ := w.m.lanes.find("c")
		w.after(idleTimeout)
		w.after(time.Minute)
		if _, ok := w.m.lanes.find("c"); ok || l.post(func() {}) {
			t.Fatal("the lane is still there")
		}
		w.m.lanes.mu.Lock()
		w.m.lanes.lanes["c"] = l // as whoever found it a moment before sees it
		w.m.lanes.mu.Unlock()
		if _, err := w.m.Directory.Channels(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := w.m.Interrupt(t.Context(), "c", "")
		w.wantErr(err, core.ErrNothingRuns)
		_, err = w.m.Cancel(t.Context(), m.Message.ID)
		w.wantErr(err, core.ErrNotWaiting)
		if p := w.m.Lookup.QueuePosition(m.Message.ID).Position; p != 0 {
			t.Errorf("position %d", p)
		}
		w.m.lanes.mu.Lock()
		delete(w.m.lanes.lanes, "c")
		w.m.lanes.mu.Unlock()
		if err := w.m.Reset(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	})
}

// What a lane told just before it retired is heard by whoever comes to listen after that.
func TestToldBeforeRetiring(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		for range 50 { // a select takes either of two that are ready
			told := make(chan struct{})
			l, err := w.m.lanes.post("c", func(*lane) { close(told) })
			if err != nil {
				t.Fatal(err)
			}
			<-l.done
			if _, err := await(t.Context(), l.channel, told); err != nil {
				t.Fatal(err)
			}
		}
		l, err := w.m.lanes.post("c", func(*lane) {})
		if err != nil {
			t.Fatal(err)
		}
		_, err = await(t.Context(), l.channel, make(chan struct{}))
		w.wantErr(err, errRetired)
	})
}

// Messages that come at the very moments at which lanes retire are not lost.
func TestMessagesWhileRetiring(t *testing.T) {
	play(t, Options{IdleTimeout: time.Second}, func(t *testing.T, w *world) {
		w.agent.script = func(h *fakeHost) {
			for {
				select {
				case id := <-h.turn:
					h.answer(id, "ok")
				case <-h.stop:
					return
				}
			}
		}
		for i := range 300 {
			m := w.submit("hello")
			w.after(5 * time.Second)
			w.wants(m, core.Answered, "", "ok")
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
		}
		if n := strings.Count(w.log.String(), "session is ended"); n == 0 {
			t.Error("no session ended")
		}
	})
}

// A lane that has still something to write does not retire.
func TestNoRetirementBeforeItIsWritten(t *testing.T) {
	play(t, Options{IdleTimeout: time.Second}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.setDown(core.ErrStorageFull)
		h.finish(id, "ok")
		w.after(time.Minute)
		h.die()
		w.after(time.Minute)
		w.ledger.setDown(nil)
		w.after(time.Minute)
		w.wants(m, core.Answered, "", "ok")
		if s := w.m.Directory.Stats(); s.Lanes != 0 {
			t.Errorf("%d lanes are left", s.Lanes)
		}
	})
}

// A session id that was made for a turn which could not be written begins a
// session later on, also after that session was ended.
func TestNoRetirementBeforeSessionIsOpened(t *testing.T) {
	play(t, Options{IdleTimeout: time.Second}, func(t *testing.T, w *world) {
		w.ledger.fail(core.ErrStorageFull, 1, begins)
		_, err := w.m.Submit(t.Context(), submission("one"))
		w.wantErr(err, core.ErrStorageFull)
		w.after(time.Minute)
		m := w.submit("two")
		h, id := w.running()
		if h.launch.Resume {
			t.Errorf("launched as %+v", h.launch)
		}
		h.answer(id, "ok")
		if got := w.wants(m, core.Answered, "", "ok"); len(got.Reply.Notices) != 0 {
			t.Errorf("notices %+v", got.Reply.Notices)
		}
	})
}

// The log says why an unused session is ended: for a new process, or since nobody needs it.
func TestWhyASessionIsEnded(t *testing.T) {
	t.Parallel()
	for why, prepare := range map[string]func(w *world, h *fakeHost){
		`why="obsolete: it was started by another program`: func(w *world, h *fakeHost) { h.outdated = true; w.restart() },
		`why="its channel has other settings"`:             func(w *world, _ *fakeHost) { w.set("haiku", "") },
		`why=idle`:                                         func(w *world, _ *fakeHost) { w.after(time.Hour) },
	} {
		t.Run(why, func(t *testing.T) {
			play(t, Options{IdleTimeout: time.Hour}, func(t *testing.T, w *world) {
				prepare(w, w.works())
				w.after(time.Minute)
				if log := w.log.String(); strings.Count(log, `msg="session is ended"`) != 1 || !strings.Contains(log, why) {
					t.Errorf("the log does not say %s:\n%s", why, log)
				}
			})
		})
	}
}
