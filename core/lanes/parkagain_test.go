package lanes

import (
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// Who begins to wait after a park, for as long as the message may take, is told of the
// next one.
func TestWaiterIsToldOfTheSecondPark(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		behind := w.submit("two")
		h.fails(id, core.CodeUsageLimit, time.Time{})
		<-behind.Parked()
		w.after(limitPause)
		told := make(chan core.Message, 1)
		go func() {
			m, _ := w.m.Lookup.WaitOrPark(t.Context(), behind.Message.ID)
			told <- m
		}()
		h, id = w.running()
		h.fails(id, core.CodeUsageLimit, time.Now().Add(time.Hour)) // it is put back
		synctest.Wait()
		select {
		case m := <-told:
			if m.State != core.Waiting {
				t.Errorf("told %+v", m)
			}
		default:
			t.Error("the waiter is not told that the channel is parked again")
		}
		w.after(time.Hour)
		w.serve(behind, "ok")
	})
}
