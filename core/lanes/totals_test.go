package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// What could not be written at once is written in its order: the ledger's last word on
// what a session has cost is the last, and nothing is counted twice after that.
func TestTotalsAreWrittenInOrder(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		w.ledger.setDown(core.ErrStorageFull)
		h.results(core.Result{Background: true, Text: "bg", TotalCost: 1, Cost: 1})
		synctest.Wait()
		w.after(saveRetry) // its next try is some seconds off
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 3, Cost: 2})
		h.done(id)
		synctest.Wait()
		w.ledger.setDown(nil)
		w.after(2 * saveRetry)
		w.wants(m, core.Answered, "", "ok")
		w.wantSpent(3)
		w.restart()
		m, h, id = w.begun("two")
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 4, Cost: 1})
		h.done(id)
		if got := w.wants(m, core.Answered, "", "ok"); got.Reply.CostUSD != 1 {
			t.Errorf("cost %v, want 1", got.Reply.CostUSD)
		}
		w.wantSpent(4)
	})
}

// A session's process is replaced while the ledger cannot be written: what the lane
// knows of its cost holds, and not what the ledger has.
func TestCostOfASessionThatIsNotWritten(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		first, h, id := w.begun("one")
		s := w.submit("two", mode(core.Steer))
		_, steered := w.running()
		w.ledger.setDown(core.ErrStorageFull)
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{id}, SessionID: h.launch.SessionID, TotalCost: 2, Cost: 2})
		h.done(id)
		synctest.Wait()
		h.die()
		w.after(time.Second)
		w.ledger.setDown(nil)
		w.after(2 * saveRetry)
		h, _ = w.running() // the second runs again
		h.begin(steered)
		h.results(core.Result{Text: "ok", Turns: []core.TurnID{steered}, SessionID: h.launch.SessionID, TotalCost: 3, Cost: 1})
		h.done(steered)
		w.wants(first, core.Answered, "", "ok")
		if got := w.wants(s, core.Answered, "", "ok"); got.Reply.CostUSD != 1 {
			t.Errorf("cost %v, want 1", got.Reply.CostUSD)
		}
		w.wantSpent(3)
	})
}
