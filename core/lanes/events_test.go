package lanes

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A message handed over while a turn runs is folded into it: one result names
// both, and the earlier turn carries the text.
func TestSteerFolded(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		s := w.submit("also this", mode(core.Steer))
		_, steered := w.running()
		if steered == id {
			t.Fatal("the message waits")
		}
		h.begin(steered)
		h.done(steered) // a folded one is done before the result that names it
		w.undecided(m, s)
		h.result("both", id, steered)
		h.done(id)
		if got := w.wants(m, core.Answered, "", "both"); got.Reply.Coalesced {
			t.Errorf("carrier: %+v", got.Reply)
		}
		if got := w.wants(s, core.Answered, "", ""); !got.Reply.Coalesced || got.Reply.Into != m.Message.ID {
			t.Errorf("folded message: %+v", got.Reply)
		}
		w.works()
	})
}

// What is not folded runs as a turn of its own, and what came later waits.
func TestSteerNotFolded(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		s := w.submit("steer", mode(core.Steer))
		later := w.submit("later")
		overtaking := w.submit("no overtaking", mode(core.Steer))
		_, steered := w.running()
		h.finish(id, "1")
		h.answer(steered, "2")
		w.wants(m, core.Answered, "", "1")
		w.wants(s, core.Answered, "", "2")
		w.answer("3")
		w.wants(later, core.Answered, "", "")
		w.wants(overtaking, core.Answered, "", "3")
		w.wantTexts(h, "one", "steer", "later\n\nno overtaking")
	})
}

// Several steered messages are merged by the agent into one turn after the
// running one.
func TestSteerMerged(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		a, b := w.submit("a", mode(core.Steer)), w.submit("b", mode(core.Steer))
		turns := h.handed()
		h.finish(id, "1")
		h.results(core.Result{IsError: true, Code: "max_turns", Error: "Too many turns.", Turns: turns[1:]})
		h.done(turns[1:]...)
		w.wants(m, core.Answered, "", "1")
		carrier := w.wants(a, core.Failed, "max_turns", "Too many turns.")
		if got := w.wants(b, core.Failed, "max_turns", ""); got.Reply.Into != carrier.ID || got.Reply.Text != "" {
			t.Errorf("merged message: %+v", got.Reply)
		}
		w.works()
	})
}

func TestSteerWithoutRunningTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("one", mode(core.Steer))
		h, id := w.running()
		command := w.submit("/compact", mode(core.Steer))
		h.answer(id, "ok")
		w.wants(m, core.Answered, "", "ok")
		w.serve(command, "ok")
		w.wantTexts(h, "one", "/compact")
	})
}

// One steered turn cannot be written while another one is: both are served.
func TestSteeredTurnsWithFailingLedger(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.hold()
		a, b := w.submitting("a", mode(core.Steer)), w.submitting("b", mode(core.Steer))
		w.ledger.step(2) // both are accepted, and frozen into turns
		synctest.Wait()
		w.ledger.fail(core.ErrStorageFull, 1, begins)
		w.ledger.release()
		synctest.Wait()
		h.answer(id, "ok")
		for range 3 {
			w.after(retryFreeze)
			if turns := h.handed(); turns[len(turns)-1] != id {
				w.answer("ok")
			}
		}
		for _, m := range []*core.Ticket{m, a.ticket, b.ticket} {
			w.wants(m, core.Answered, "", "")
		}
		w.works()
	})
}

// The agent says that it is done, but no result names the turn: its record
// tells what became of it.
func TestCompletedWithoutResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate  core.Fate
		err   error
		state core.State
		code  string
		text  string
	}{
		"answered":    {core.Fate{Begun: true, Answered: true, Text: "from the record"}, nil, core.Answered, "", "from the record"},
		"failed":      {core.Fate{Begun: true, Failed: true, Code: "api", Text: "API error"}, nil, core.Failed, "api", "API error"},
		"interrupted": {core.Fate{Begun: true, ToolBegun: true, Done: "Bash (make)"}, nil, core.Failed, core.CodeInterrupted, "Done before that: Bash (make)."},
		"unreadable":  {core.Fate{}, errors.New("disk"), core.Failed, core.CodeInterrupted, "not run again"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				w.agent.fate(id, func(f *core.Fate) { *f = c.fate })
				w.agent.fateErr = c.err
				h.done(id)
				w.after(recordAfter)
				w.wants(m, c.state, c.code, c.text)
				w.agent.fateErr = nil
				w.works()
			})
		})
	}
}

// The record of a turn is not asked while a result may still come for it.
func TestRecordIsAskedLast(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		s := w.submit("folded", mode(core.Steer))
		_, steered := w.running()
		h.begin(steered)
		h.done(steered)
		w.undecided(m, s)
		h.finish(id, "only the first")
		w.wants(m, core.Answered, "", "only the first")
		w.after(recordAfter)
		w.wants(s, core.Failed, core.CodeInterrupted, "")
		w.works()
	})
}

func TestResultsThatNameNothing(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		defer sub.Close()
		m, h, id := w.begun("one")
		h.result("nobody's")
		h.result("of a turn long gone", "another turn")
		h.results(core.Result{Background: true, Text: "task is finished"})
		h.results(core.Result{Background: true, IsError: true, Error: "task failed"})
		w.undecided(m)
		h.answer(id, "ok")
		h.result("a second answer", id)
		w.wants(m, core.Answered, "", "ok")
		w.after(time.Second)
		got, err := w.m.Lookup.Backgrounds(t.Context(), "c", 10)
		if err != nil || len(got) != 2 || got[1].Text != "task is finished" || got[0].Text != "task failed" || !got[0].IsError {
			t.Errorf("background results: %+v, %v", got, err)
		}
		published := 0
		for u, ok := sub.Next(); ok; u, ok = sub.Next() {
			if u.Kind == core.UpdateBackground {
				published++
			}
		}
		if published != 2 {
			t.Errorf("%d background results were published, want 2", published)
		}
		w.works()
	})
}

// The events of a turn are acknowledged only when their effect is durable; the
// fake host checks each ack. Here the effects become durable one by one.
func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(h *fakeHost, first, steered core.TurnID){
		"result": func(h *fakeHost, first, steered core.TurnID) {
			h.result("ok", first, steered)
			h.done(first, steered)
		},
		"two results": func(h *fakeHost, first, steered core.TurnID) {
			h.finish(first, "ok")
			h.finish(steered, "ok")
		},
		"record": func(h *fakeHost, first, steered core.TurnID) { h.done(first, steered) },
		"result, then record": func(h *fakeHost, first, steered core.TurnID) {
			h.done(steered)
			h.finish(first, "ok")
		},
		"exit": func(h *fakeHost, first, steered core.TurnID) {
			h.done(steered)
			h.result("ok", first)
			h.exit(core.Exit{Text: "gone"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				h.tool(id)
				s := w.submit("two", mode(core.Steer))
				_, steered := w.running()
				h.begin(steered)
				h.ask("r1", "Bash")
				w.ledger.setDown(core.ErrStorage)
				act(h, id, steered)
				for range 2 * ackEvery {
					h.say(core.Event{Kind: core.Said})
				}
				w.after(time.Second)
				if h.kept() == 0 {
					t.Error("everything is acknowledged while nothing can be written")
				}
				w.ledger.setDown(nil)
				w.after(time.Minute)
				w.outcome(m)
				w.outcome(s)
				for range ackEvery {
					h.say(core.Event{Kind: core.Said})
				}
				synctest.Wait()
				if n := h.kept(); h.alive() && n > ackEvery {
					t.Errorf("%d events are not acknowledged", n)
				}
				w.works()
			})
		})
	}
}

// /clear gives the conversation a new id, which is saved at once.
func TestSessionGoesOnUnderNewID(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("/clear")
		const second, third = "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
		w.sessions.pause = []time.Duration{time.Second} // the first save is slow
		h.say(core.Event{Kind: core.SessionNew, SessionID: second})
		synctest.Wait()
		h.say(core.Event{Kind: core.SessionNew, SessionID: third})
		w.after(2 * time.Second)
		if !w.sessions.has("c", third) {
			t.Error("the session id is not the latest")
		}
		h.results(core.Result{Turns: []core.TurnID{id}, SessionID: third})
		h.done(id)
		synctest.Wait()
		w.agent.known[third] = true
		h.die()
		w.works()
		if got := w.host().launch; got.SessionID != third || !got.Resume {
			t.Errorf("next session started as %+v", got)
		}
	})
}

func TestRetriesAreTold(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		defer sub.Close()
		_, h, _ := w.begun("one")
		h.say(core.Event{Kind: core.Retrying, Detail: "overloaded"})
		synctest.Wait()
		var details []string
		for u, ok := sub.Next(); ok; u, ok = sub.Next() {
			if u.Kind == core.UpdateRetrying {
				details = append(details, u.Detail)
			}
		}
		if !slices.Equal(details, []string{"overloaded"}) {
			t.Errorf("told %v", details)
		}
	})
}
