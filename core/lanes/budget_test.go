package lanes

import (
	"fmt"
	"math"
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
