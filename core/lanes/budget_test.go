package lanes

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // for places whose clocks are odd

	"bareclaw/core"
)

// wantSpent checks what was spent today, in memory and in the ledger.
func (w *world) wantSpent(want float64) {
	w.t.Helper()
	synctest.Wait()
	kept, err := w.ledger.Spent(w.t.Context(), core.Day(time.Now()))
	if got := w.m.Directory.Spending(); math.Abs(got.Spent-want) > 1e-9 || math.Abs(kept-want) > 1e-9 || err != nil {
		w.t.Errorf("spent %v, in the ledger %v (%v), want %v", got, kept, err, want)
	}
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
