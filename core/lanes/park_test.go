package lanes

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

func (w *world) status() core.ChannelStatus {
	w.t.Helper()
	synctest.Wait()
	st, err := w.m.Directory.Channel(w.t.Context(), "c")
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// parkedAs checks that the channel is parked, and that a waiting message says so.
func (w *world) parkedAs(why string, until time.Time, waiting ...*core.Ticket) {
	w.t.Helper()
	w.undecided(waiting...)
	st := w.status()
	if st.State != core.StateParked || !strings.Contains(st.Why, why) || !st.Until.Equal(until) || st.Waiting != len(waiting) {
		w.t.Errorf("status %+v, want parked for %q until %s", st, why, until)
	}
	for i, m := range waiting {
		w.wantsNow(m.Message.ID, core.Waiting, "", "")
		trace, err := w.m.Lookup.Trace(w.t.Context(), m.Message.ID)
		if err != nil || trace.Position != i+1 || trace.Why != st.Why {
			w.t.Errorf("trace %+v, %v", trace, err)
		}
	}
}

// A login that the API refuses ends the turn at once; what waits goes on waiting.
func TestUnauthorised(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		h.retries(401)
		h.retries(401)
		synctest.Wait()
		if h.interrupted() != 1 {
			t.Fatalf("interrupted %d times", h.interrupted())
		}
		updates := w.watching("c")
		h.aborts(id)
		w.wants(m, core.Failed, core.CodeNotLoggedIn, "`claude setup-token`")
		us := updates.told(core.UpdateParked)
		if len(us) != 1 || !slices.Equal(us[0].Messages, []core.MessageID{behind.Message.ID}) || !strings.Contains(us[0].Detail, "log in again") {
			t.Errorf("told %+v", us)
		}
		w.parkedAs("`claude setup-token`", time.Now().Add(loginPause), behind)
		w.after(loginPause)
		next, id := w.running()
		if next == h {
			t.Error("the old process was asked, which does not know the new login")
		}
		next.answer(id, "ok")
		w.wants(behind, core.Answered, "", "ok")
		if st := w.status(); st.State != core.StateReady || st.Why != "" {
			t.Errorf("status %+v", st)
		}
	})
}

// An agent that does not end the turn is ended, and the code stays the same.
func TestUnauthorisedAndDeaf(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, _ := w.begun("one")
		h.retries(401)
		w.after(patientGrace)
		w.wants(m, core.Failed, core.CodeNotLoggedIn, "log in again")
	})
}

// A new message is a reason to try: should that fail too, whoever sent it is
// told, and what had waited before goes on waiting.
func TestParkedTriesWithNewMessage(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, h, id := w.begun("one")
		behind := w.submit("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.wants(first, core.Failed, core.CodeNotLoggedIn, "")
		w.after(time.Minute)
		impatient := w.submit("three")
		h, id = w.running()
		w.wantTexts(h, "two\n\nthree")
		h.begin(id)
		h.retries(401)
		h.aborts(id)
		w.wants(impatient, core.Failed, core.CodeNotLoggedIn, "log in again")
		w.parkedAs("log in again", time.Now().Add(loginPause), behind)
		w.after(loginPause)
		h, id = w.running()
		w.wantTexts(h, "two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.parkedAs("log in again", time.Now().Add(loginPause), behind)
		last := w.submit("four")
		w.answer("ok")
		if got := w.wants(behind, core.Answered, "", ""); got.Reply.Into != last.Message.ID {
			t.Errorf("reply %+v", got.Reply)
		}
		w.wants(last, core.Answered, "", "ok")
	})
}

// A turn that had begun a tool is not run again, patient or not.
func TestParkedNotAfterTool(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.after(loginPause)
		h, id = w.running()
		h.begin(id)
		h.tool(id)
		h.fails(id, core.CodeUsageLimit, time.Time{})
		w.wants(behind, core.Failed, core.CodeUsageLimit, "")
	})
}

// A usage limit parks the channel until it ends; then it goes on by itself.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(h *fakeHost, id core.TurnID, until time.Time){
		"said by the result": func(h *fakeHost, id core.TurnID, until time.Time) { h.fails(id, core.CodeUsageLimit, until) },
		"said by an event": func(h *fakeHost, id core.TurnID, until time.Time) {
			h.say(core.Event{Kind: core.Limited, Until: until})
			h.fails(id, core.CodeUsageLimit, time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				behind := w.submit("two")
				until := time.Now().Add(3 * time.Hour).Truncate(time.Second)
				how(h, id, until)
				got := w.wants(m, core.Failed, core.CodeUsageLimit, "")
				if !slices.Contains(codes(got.Reply.Notices), "parked") {
					t.Errorf("notices %+v", got.Reply.Notices)
				}
				updates := w.watching("c")
				later := w.submit("three")
				us := updates.told(core.UpdateQueued)
				if len(us) != 1 || !strings.Contains(us[0].Detail, until.Format("15:04")) {
					t.Errorf("told %+v", us)
				}
				w.parkedAs("usage limit", until, behind, later)
				w.after(time.Until(until))
				w.wantTexts(h, "one", "two\n\nthree")
				w.answer("ok")
				w.wants(behind, core.Answered, "", "")
				w.wants(later, core.Answered, "", "ok")
			})
		})
	}
}

// A limit that is still there after its end is tried again soon, but not at once,
// and costs no message.
func TestUsageLimitLastsLonger(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		until := time.Now().Add(time.Hour)
		h.fails(id, core.CodeUsageLimit, until)
		w.after(time.Hour)
		_, id = w.running()
		h.fails(id, core.CodeUsageLimit, until)
		w.parkedAs("usage limit", time.Now().Add(shortestPark), behind)
		w.after(shortestPark)
		_, id = w.running()
		h.fails(id, core.CodeUsageLimit, time.Time{})
		w.parkedAs("usage limit", time.Now().Add(limitPause), behind)
		w.after(limitPause)
		w.serve(behind, "ok")
	})
}

// A new process finds out by trying once, and no message is lost by that.
func TestParkedThroughRestart(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*world){
		"restart": (*world).restart,
		"crash":   func(w *world) { w.crash(); w.start() },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				_, h, id := w.begun("one")
				two, three := w.submit("two"), w.submit("three")
				until := time.Now().Add(time.Hour)
				h.fails(id, core.CodeUsageLimit, until)
				w.after(time.Minute)
				leave(w)
				_, id = w.running()
				w.wantTexts(h, "one", "two\n\nthree")
				h.fails(id, core.CodeUsageLimit, until)
				w.parkedAs("usage limit", until, two, three)
				w.after(time.Hour)
				w.answer("ok")
				w.wantsNow(two.Message.ID, core.Answered, "", "")
				w.wantsNow(three.Message.ID, core.Answered, "", "ok")
			})
		})
	}
}

// The process dies just when messages are put back: the next one does not know
// what their turn had done, and tells them.
func TestParkedThroughCrash(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two := w.submit("two")
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour))
		w.after(time.Hour)
		_, id = w.running()
		w.ledger.hold()
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour))
		synctest.Wait()
		w.crash()
		w.ledger.release()
		w.start()
		w.after(time.Second)
		w.wantsNow(two.Message.ID, core.Failed, core.CodeUsageLimit, "")
	})
}

// A new process does not know what a turn had done before: it is not run again.
func TestParkedTurnOfEarlierLife(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		for range ackEvery {
			h.say(core.Event{Type: "system"})
		}
		synctest.Wait()
		w.crash()
		w.start()
		synctest.Wait()
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour))
		w.wantsNow(m.Message.ID, core.Failed, core.CodeUsageLimit, "")
	})
}

// But one that is handed over again is known from its beginning.
func TestParkedTurnRunAgain(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("one")
		w.crash()
		w.host().die()
		w.start()
		h, id := w.running()
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour))
		w.wantsNow(m.Message.ID, core.Waiting, "", "")
		w.after(time.Hour)
		w.answer("ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
	})
}

// What is to be told once is told with the reply that there is in the end.
func TestPutBackKeepsNotices(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two := w.submit("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.after(time.Second)
		w.agent.mu.Lock()
		clear(w.agent.known)
		w.agent.mu.Unlock()
		w.after(loginPause)
		h, id = w.running()
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.after(loginPause)
		w.answer("ok")
		if got := w.wants(two, core.Answered, "", "ok"); !slices.Equal(codes(got.Reply.Notices), []string{"fresh_session"}) {
			t.Errorf("notices %+v", got.Reply.Notices)
		}
	})
}

// What waits on a parked channel can be cancelled, and the channel closed.
func TestParkedIsLeft(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two, three := w.submit("two"), w.submit("three")
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour))
		synctest.Wait()
		if _, err := w.m.Cancel(t.Context(), two.Message.ID); err != nil {
			t.Error(err)
		}
		w.parkedAs("usage limit", time.Now().Add(time.Hour), three)
		if err := w.m.Reset(t.Context(), "c"); err != nil {
			t.Error(err)
		}
		w.outcome(three)
		w.works()
	})
}

// A message that is put back is not used before the ledger knows that it waits.
func TestPutBackIsWrittenFirst(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two := w.submit("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.after(loginPause)
		h, id = w.running()
		w.ledger.fail(core.ErrStorage, 1000, func(c core.Change) bool { return len(c.Requeue) > 0 })
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		synctest.Wait()
		_, err := w.m.Cancel(t.Context(), two.Message.ID)
		w.wantErr(err, core.ErrNotWaiting)
		three := w.submit("three")
		w.after(time.Minute)
		w.undecided(two, three)
		if strings.Contains(w.log.String(), "turn not written") {
			t.Error("a turn was begun with it")
		}
		w.ledger.forget()
		w.after(2 * saveRetry)
		h, id = w.running()
		w.wantTexts(h, "two\n\nthree")
		h.answer(id, "ok")
		w.wants(two, core.Answered, "", "")
		w.wants(three, core.Answered, "", "ok")
	})
}

// A turn whose record cannot be read may have begun a tool: it is not run again.
func TestParkedTurnWithoutRecord(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two := w.submit("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.after(loginPause)
		h, id = w.running()
		h.begin(id)
		h.retries(401)
		w.agent.mu.Lock()
		w.agent.fateErr = errCut
		w.agent.mu.Unlock()
		w.after(patientGrace)
		w.wants(two, core.Failed, core.CodeNotLoggedIn, "log in again")
	})
}
