package lanes

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/core"
)

// The wall clock may jump: nothing lasts less than no time, nothing changes its
// order, and nothing waits longer for it.
func TestClockJumps(t *testing.T) {
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	play(t, Options{Now: now, ApprovalTimeout: time.Minute, TurnTimeout: time.Hour}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one", askable)
		w.submit("two")
		h.ask("r1", "Bash")
		a := w.pending(1)[0]
		offset.Store(int64(-24 * time.Hour))
		w.submit("three")
		w.restart()
		w.submit("four")
		w.after(time.Minute)
		w.approval(a.ID, core.ApprovalExpired)
		h.finish(id, "ok")
		got := w.wantsNow(m.Message.ID, core.Answered, "", "ok")
		if got.Reply.Duration != 0 {
			t.Errorf("the turn took %s", got.Reply.Duration)
		}
		_, id = w.running()
		offset.Store(int64(24 * time.Hour))
		h.answer(id, "ok")
		w.works()
		w.wantTexts(h, "one", "two\n\nthree\n\nfour", "still there?")
		turn, err := w.ledger.Turn(t.Context(), id)
		if err != nil || !slices.IsSorted(turn.Members) {
			t.Errorf("members %v, %v", turn.Members, err)
		}
	})
}

// The machine sleeps, and with it all timers, beyond the end of a usage limit: what waits is
// tried soon after it has woken up.
func TestLimitThatEndsInSleep(t *testing.T) {
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	play(t, Options{Now: now}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		behind := w.submit("two")
		end := time.Now().Add(5 * time.Hour)
		h.fails(id, core.CodeUsageLimit, end)
		w.wants(m, core.Failed, core.CodeUsageLimit, "")
		w.parkedAs("limit", end, behind)
		offset.Store(int64(8 * time.Hour))
		w.after(parkLook)
		w.serve(behind, "ok")
	})
}
