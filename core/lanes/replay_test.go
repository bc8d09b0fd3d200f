package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A new process hears again a background result that is on record, and then the
// result of a later turn, which is too: none of them is counted once more.
func TestOlderBackgroundThatComesAgainIsNotPaidTwice(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.loseAcks(true)
		h.begin(id)
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 1, Cost: 1})
		h.done(id)
		w.wants(m, core.Answered, "", "ok")
		h.results(core.Result{Background: true, Text: "bg", TotalCost: 2, Cost: 1})
		w.wantSpent(2)
		m, _, id = w.begun("two")
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 3, Cost: 1})
		h.done(id)
		w.wants(m, core.Answered, "", "ok")
		w.wantSpent(3)
		w.crash()
		w.start()
		w.after(time.Second)
		w.wantSpent(3)
		h.loseAcks(false)
		m, _, id = w.begun("three")
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 4, Cost: 1})
		h.done(id)
		if got := w.wants(m, core.Answered, "", "ok"); got.Reply.CostUSD != 1 {
			t.Errorf("cost %v, want 1", got.Reply.CostUSD)
		}
		w.wantSpent(4)
	})
}

// A session that has begun the budget of a turn is not ended while claude tells the
// news of a background task, also when a message comes.
func TestTurnBudgetSparesTheNewsOfATask(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]bool{"a message comes": true, "nothing comes": false} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{TurnBudget: 1}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				h.runs(1)
				h.pays(id, "ok", 0.5)
				w.wants(m, core.Answered, "", "ok")
				h.runs(0)
				w.after(10 * time.Second) // of silence: the API takes its time
				h.say(core.Event{Kind: core.Said, Type: "assistant"})
				w.after(time.Minute)
				if comes {
					w.submit("two")
				}
				w.after(time.Millisecond)
				if h.gentle() {
					t.Error("the session was ended while claude told the news")
				}
				h.results(core.Result{Background: true, Text: "news", TotalCost: 0.75})
				w.after(time.Second)
				bs, err := w.m.Lookup.Backgrounds(t.Context(), "c", 10)
				if err != nil || len(bs) != 1 {
					t.Errorf("news are %v, %v", bs, err)
				}
			})
		})
	}
}

// A new process does not know whether claude tells the news of a task: it does not end
// the session at once, though it may be worn.
func TestTurnBudgetSparesTheNewsThroughRestart(t *testing.T) {
	play(t, Options{TurnBudget: 1}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.runs(1)
		h.pays(id, "ok", 0.01)
		w.wants(m, core.Answered, "", "ok")
		h.runs(0)
		h.say(core.Event{Kind: core.Said, Type: "assistant"})
		for range 2 * ackEvery {
			h.say(core.Event{Kind: core.Said, Type: "system"})
		}
		synctest.Wait()
		w.restart()
		w.after(10 * time.Second)
		h.results(core.Result{Background: true, Text: "news", TotalCost: 0.02})
		w.after(time.Second)
		bs, err := w.m.Lookup.Backgrounds(t.Context(), "c", 10)
		if err != nil || len(bs) != 1 {
			t.Errorf("news are %v, %v", bs, err)
		}
		w.after(newsGrace + time.Second)
		if h.alive() {
			t.Error("the session is kept")
		}
	})
}

// What a turn did while no gateway was there is marked at the time at which it was done,
// not at that at which the next gateway heard of it.
func TestMarksOfReplayedEvents(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.submit("one")
		h, id := w.running()
		begun := time.Now()
		w.m.Detach()
		for _, do := range []func(){
			func() { h.begin(id) },
			func() { h.tool(id) },
			func() { h.result("ok", id); h.done(id) },
		} {
			w.after(10 * time.Second)
			do()
		}
		w.after(time.Hour)
		w.start()
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
		next, _, _ := w.begun("two")
		trace, err := w.m.Lookup.Trace(t.Context(), m.Message.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]time.Duration{}
		for _, mark := range trace.Turn.Marks {
			got[mark.What] = mark.At.Sub(begun)
		}
		for what, want := range map[string]time.Duration{
			"started": 10 * time.Second, core.MarkTool: 20 * time.Second, "ended": 30 * time.Second, core.MarkTakenOver: 30*time.Second + time.Hour,
		} {
			if at, ok := got[what]; !ok || at != want {
				t.Errorf("%s is marked after %v, want %v: %+v", what, at, want, trace.Turn.Marks)
			}
		}
		live, err := w.m.Lookup.Trace(t.Context(), next.Message.ID) // what is heard as it happens
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range live.Turn.Marks {
			if mark.At.Before(trace.Message.EndedAt) {
				t.Errorf("a mark of the next turn is of an earlier time: %+v", mark)
			}
		}
	})
}
