package lanes

import (
	"strings"
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
