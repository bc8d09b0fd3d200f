package lanes

import (
	"testing"
	"time"

	"bareclaw/core"
)

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
