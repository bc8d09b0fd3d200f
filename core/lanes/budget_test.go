package lanes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // for places whose clocks are odd

	"bareclaw/core"
	"bareclaw/core/spending"
)

// pays has the agent answer a turn, after which its session has cost so much.
func (h *fakeHost) pays(id core.TurnID, text string, total float64) {
	h.begin(id)
	h.results(core.Result{Text: text, Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: total})
	h.done(id)
}

// wantSpent checks what was spent today, in memory and in the ledger.
func (w *world) wantSpent(want float64) {
	w.t.Helper()
	synctest.Wait()
	kept, err := w.ledger.Spent(w.t.Context(), core.Day(time.Now()))
	if got := w.m.Directory.Spending(); math.Abs(got.Spent-want) > 1e-9 || math.Abs(kept-want) > 1e-9 || err != nil {
		w.t.Errorf("spent %v, in the ledger %v (%v), want %v", got, kept, err, want)
	}
}

// Over the daily budget messages wait until midnight, and then run by themselves.
func TestDailyBudget(t *testing.T) {
	play(t, Options{DailyBudget: 1}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		h.pays(id, "ok", 0.75)
		synctest.Wait()
		w.wantSpent(0.75)
		_, id = w.running()
		h.begin(id)
		steered := w.submit("three", mode(core.Steer))
		w.wantTexts(h, "one", "two", "three")
		h.results(core.Result{Background: true, Text: "bg", TotalCost: 1.25}) // of an earlier turn
		synctest.Wait()
		late := w.submit("four", mode(core.Steer))
		w.wantTexts(h, "one", "two", "three") // nothing is added to what runs
		updates := w.watching("c")
		h.results(core.Result{Text: "ok", Turns: h.handed()[1:], SessionID: h.launch.SessionID, TotalCost: 1.5})
		h.done(h.handed()[1:]...)
		w.wants(behind, core.Answered, "", "ok") // what ran was not cut
		w.wants(steered, core.Answered, "", "")
		w.wantSpent(1.5)
		midnight := spending.NextDay(time.Now())
		us := updates.told(core.UpdateParked)
		want := "The daily budget of $1.00 (BUDGET) is used up ($1.50 spent today). What waits runs at " + midnight.Format(parkStamp) + "."
		if len(us) != 1 || us[0].Detail != want || !slices.Equal(us[0].Messages, []core.MessageID{late.Message.ID}) {
			t.Errorf("told %+v, want %q", us, want)
		}
		w.parkedAs("daily budget", midnight, late)
		last := w.submit("five")
		w.parkedAs("daily budget", midnight, late, last)
		w.after(time.Until(midnight) - time.Nanosecond)
		w.undecided(late, last)
		w.after(time.Nanosecond)
		w.wantSpent(0)
		_, id = w.running()
		w.wantTexts(h, "one", "two", "three", "four\n\nfive")
		h.pays(id, "next day", 1.75)
		w.wants(last, core.Answered, "", "next day")
		w.wantSpent(0.25)
		w.works()
	})
}

// A channel that has nothing to do is not parked before a message comes, which is
// then told why it waits.
func TestDailyBudgetParksWithAMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Submission){"plain": in("d"), "keyed": func(s *core.Submission) { s.Channel, s.SourceKey = "d", "k" }} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{DailyBudget: 1}, func(t *testing.T, w *world) {
				m, h, id := w.begun("one")
				h.pays(id, "ok", 2)
				w.wants(m, core.Answered, "", "ok")
				if st := w.status(); st.State != core.StateReady {
					t.Errorf("status %+v", st)
				}
				updates := w.watching("d")
				other := w.submit("two", change)
				w.undecided(other)
				us := updates.told(core.UpdateParked)
				if len(us) != 1 || !slices.Equal(us[0].Messages, []core.MessageID{other.Message.ID}) {
					t.Errorf("told %+v", us)
				}
				if live, err := (agentOf{w.agent, w.life}).Live(t.Context()); err != nil || len(live) != 1 {
					t.Errorf("a session was started for what waits: %v, %v", live, err)
				}
				w.after(24 * time.Hour)
				h = w.hostOf("d")
				h.answer(h.handed()[0], "ok")
				w.wants(other, core.Answered, "", "ok")
			})
		})
	}
}

// A new process knows what was spent, and counts nothing twice; with a higher
// budget it goes on at once.
func TestDailyBudgetThroughRestart(t *testing.T) {
	play(t, Options{DailyBudget: 1}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		w.ledger.hold()
		h.pays(id, "ok", 1.5)
		h.results(core.Result{Background: true, Text: "bg", TotalCost: 1.75})
		synctest.Wait()
		w.crash() // before that was written
		w.ledger.release()
		w.start()
		w.after(time.Second)
		w.wantSpent(1.75)
		w.parkedAs("daily budget", spending.NextDay(time.Now()), core.NewTicket(behind.Message))
		w.crash() // and after it
		w.start()
		w.after(time.Second)
		w.wantSpent(1.75)
		w.m.Detach()
		w.o.DailyBudget = 2
		w.start()
		h, id = w.running()
		h.pays(id, "more", 2)
		w.wantsNow(behind.Message.ID, core.Answered, "", "more")
		w.wantSpent(2)
	})
}

// What a turn cost whose process died before its result shows in the total of the
// next; a fresh session, and one that was cleared, begin at nothing.
func TestSpendingOfSessions(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.pays(id, "ok", 1)
		w.wants(m, core.Answered, "", "ok")
		_, h, id = w.begun("two")
		h.tool(id)
		h.die()
		w.after(time.Second)
		m, h, id = w.begun("three")
		h.pays(id, "ok", 3)
		if got := w.wants(m, core.Answered, "", "ok"); got.Reply.CostUSD != 2 {
			t.Errorf("cost %v", got.Reply.CostUSD)
		}
		w.wantSpent(3)
		h.die() // and did not save its total
		w.after(time.Second)
		m, h, id = w.begun("less")
		w.restart()
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 1.25, Cost: 0.25})
		h.done(id)
		if got := w.wantsNow(m.Message.ID, core.Answered, "", "ok"); got.Reply.CostUSD != 0.25 {
			t.Errorf("cost %v", got.Reply.CostUSD)
		}
		w.wantSpent(3.25)
		w.restart()
		w.wantSpent(3.25)
		m, h, id = w.begun("again")
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 1.75, Cost: 0.5})
		h.done(id)
		if got := w.wants(m, core.Answered, "", "ok"); got.Reply.CostUSD != 0.5 {
			t.Errorf("cost %v", got.Reply.CostUSD)
		}
		w.wantSpent(3.75)
		m, h, id = w.begun("four") // fails with a result that gives no total
		h.results(core.Result{Turns: []core.TurnID{id}, IsError: true, Code: "api_error", Error: "no", SessionID: h.launch.SessionID})
		h.done(id)
		w.wants(m, core.Failed, "api_error", "no")
		m, h, id = w.begun("/clear")
		h.say(core.Event{Kind: core.SessionNew, SessionID: "another"})
		h.results(core.Result{Text: "", Turns: []core.TurnID{id}, SessionID: "another"})
		h.done(id)
		w.wants(m, core.Answered, "", "")
		m, h, id = w.begun("five")
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: "another", TotalCost: 0.5})
		h.done(id)
		if got := w.wants(m, core.Answered, "", "ok"); got.Reply.CostUSD != 0.5 {
			t.Errorf("cost %v", got.Reply.CostUSD)
		}
		w.wantSpent(4.25)
	})
}

// A turn that is put back was paid all the same.
func TestSpendingOfWhatIsPutBack(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		fails := func(total float64) {
			h.begin(id)
			h.results(core.Result{Turns: []core.TurnID{id}, IsError: true, Code: core.CodeUsageLimit, Error: "limit", SessionID: h.launch.SessionID, TotalCost: total})
			h.done(id)
			w.after(limitPause)
			h, id = w.running()
		}
		fails(0.5)
		fails(0.75)
		w.undecided(behind)
		w.wantSpent(0.75)
		h.pays(id, "ok", 1)
		w.wants(behind, core.Answered, "", "ok")
		w.wantSpent(1)
	})
}

// A machine that slept has a timer that is late: the first message shows the time.
func TestParkThatIsOver(t *testing.T) {
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	play(t, Options{DailyBudget: 1, Now: now}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		h.pays(id, "ok", 1)
		w.wants(m, core.Answered, "", "ok")
		w.undecided(behind)
		offset.Store(int64(24 * time.Hour))
		last := w.submit("three")
		h, id = w.running()
		w.wantTexts(h, "one", "two\n\nthree")
		h.answer(id, "ok")
		w.wants(behind, core.Answered, "", "")
		w.wants(last, core.Answered, "", "ok")
	})
}

// Between turns a session is replaced when it has spent a tenth of what one turn
// may, or all of it; the conversation goes on.
func TestTurnBudget(t *testing.T) {
	play(t, Options{TurnBudget: 1}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.pays(id, "ok", 0.0625)
		w.wants(m, core.Answered, "", "ok")
		m, again, id := w.begun("two")
		if again != h {
			t.Fatal("the session was replaced too early")
		}
		behind := w.submit("three")
		h.begin(id)
		h.results(core.Result{Turns: []core.TurnID{id}, IsError: true, Code: core.CodeMaxBudget, Error: "over", SessionID: h.launch.SessionID, TotalCost: 1.25})
		h.done(id)
		w.wants(m, core.Failed, core.CodeMaxBudget, "over")
		w.after(2 * time.Second)
		next, id := w.running()
		if next == h || !next.launch.Resume || next.launch.SessionID != h.launch.SessionID || !h.gentle() {
			t.Fatalf("launched with %+v", next.launch)
		}
		w.wantTexts(h, "one", "two")
		next.pays(id, "ok", 1.5)
		if got := w.wants(behind, core.Answered, "", "ok"); got.Reply.CostUSD != 0.25 {
			t.Errorf("cost %v", got.Reply.CostUSD)
		}
		w.after(2 * time.Second)
		if next.alive() {
			t.Error("a session with less than a turn's budget is kept")
		}
		w.works()
	})
}

// A background task keeps the session while it has something left; and how much a
// session of an earlier process has left is not known.
func TestTurnBudgetOfOtherSessions(t *testing.T) {
	play(t, Options{TurnBudget: 1}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		h.runs(1)
		h.pays(id, "ok", 0.5)
		w.after(2 * time.Second)
		_, again, id := w.begun("two")
		if again != h {
			t.Fatal("a session with a task was ended")
		}
		h.pays(id, "ok", 0.5)
		w.restart()
		w.after(2 * time.Second)
		if !h.alive() {
			t.Fatal("a session with a task was ended")
		}
		h.runs(0)
		w.after(newsGrace + 2*time.Second)
		if h.alive() {
			t.Error("nobody knows what it has left, and it is kept")
		}
		_, h, id = w.begun("three")
		h.runs(1)
		h.results(core.Result{Background: true, IsError: true, Code: core.CodeMaxBudget, Error: "over", TotalCost: 2})
		h.pays(id, "ok", 2)
		w.after(2 * time.Second)
		m, next, id := w.begun("four")
		if next == h {
			t.Fatal("a session that can do nothing more was kept")
		}
		next.pays(id, "ok", 2.25)
		w.wants(m, core.Answered, "", "ok")
	})
}

// Whoever waits for the outcome of a message is told when its channel is parked.
func TestWaiterOfParkedChannel(t *testing.T) {
	play(t, Options{DailyBudget: 1}, func(t *testing.T, w *world) {
		first := w.waitingFor("one")
		h, id := w.running()
		h.begin(id)
		behind := w.waitingFor("two")
		w.wantOver(behind, false)
		h.pays(id, "ok", 1)
		w.wantOver(first, true)
		w.wantOver(behind, true)
		later := w.waitingFor("three")
		w.wantOver(later, true)
		for i, s := range []*waiting{behind, later} {
			if s.err != nil {
				t.Fatal(s.err)
			}
			<-s.ticket.Parked()
			at := s.ticket.QueuePosition()
			if at.Position != i+1 || !at.Until.Equal(spending.NextDay(time.Now())) || !strings.Contains(at.Why, "daily budget") {
				t.Errorf("told %+v", at)
			}
			w.undecided(s.ticket)
			m, err := w.m.Lookup.WaitOrPark(t.Context(), s.ticket.Message.ID)
			if err != nil || m.State != core.Waiting {
				t.Errorf("waiting for it gives %+v, %v", m, err)
			}
		}
		w.after(24 * time.Hour)
		outcome := make(chan core.Message, 1)
		go func() {
			m, _ := w.m.Lookup.WaitOrPark(t.Context(), later.ticket.Message.ID)
			outcome <- m
		}()
		w.answer("ok")
		if m := <-outcome; m.State != core.Answered {
			t.Errorf("once the channel goes on, waiting gives %+v", m)
		}
	})
}

// A message that comes while it is not known when the park ends is a try, and its
// waiter is told the outcome.
func TestWaiterWhoTries(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.waitingFor("two")
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.wantOver(behind, true)
		if at := behind.ticket.QueuePosition(); !at.Until.Equal(time.Now().Add(loginPause)) {
			t.Errorf("told %+v", at)
		}
		w.after(time.Minute) // its session has ended
		try := w.waitingFor("three")
		w.wantOver(try, false)
		h, id = w.running()
		h.fails(id, core.CodeNotLoggedIn, time.Time{})
		w.wantOver(try, true)
		w.wants(try.ticket, core.Failed, core.CodeNotLoggedIn, "")
	})
}

// TestBudgetIsUsedUpMeanwhile has another channel use up the budget at each moment while a
// message is admitted: the message is accepted all the same, and waits.
func TestBudgetIsUsedUpMeanwhile(t *testing.T) {
	t.Parallel()
	for nth := range int64(5) {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			var w *world
			var calls atomic.Int64
			calls.Store(-100)
			now := func() time.Time {
				if calls.Add(1) == nth+1 {
					w.m.budget.Add(time.Now(), 2)
				}
				return time.Now()
			}
			play(t, Options{DailyBudget: 1, Now: now}, func(t *testing.T, world *world) {
				w = world
				synctest.Wait()
				calls.Store(-1) // the message has its time of arrival
				s := w.submitting("one")
				if !s.over.Load() || s.err != nil {
					t.Fatalf("accepted: %v, %v", s.over.Load(), s.err)
				}
			})
		})
	}
}
