package lanes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// A watcher collects what the subscribers of a channel are told.
type watcher struct {
	s *feed.Subscription
}

func (w *world) watching(key core.ChannelKey) *watcher {
	s := w.m.Feeds.Subscribe(key)
	w.t.Cleanup(s.Close)
	return &watcher{s}
}

// told returns the updates of a kind since the last time, and forgets the others.
func (w *watcher) told(kind core.UpdateKind) []core.Update {
	synctest.Wait()
	var us []core.Update
	for u, ok := w.s.Next(); ok; u, ok = w.s.Next() {
		if u.Kind == kind {
			us = append(us, u)
		}
	}
	return us
}

func (w *world) marked(id core.MessageID, what string) bool {
	w.t.Helper()
	trace, err := w.m.Lookup.Trace(w.t.Context(), id)
	if err != nil || trace.Turn == nil {
		w.t.Fatalf("trace of %s: %+v, %v", id, trace, err)
	}
	return slices.ContainsFunc(trace.Turn.Marks, func(m core.Mark) bool { return m.What == what })
}

const stallAfter = 10 * time.Minute

// What the agent has said in time is heard before it counts as silent, also by a process
// that stood still meanwhile.
func TestNoStallOfWhatIsHeardLate(t *testing.T) {
	play(t, Options{StallAfter: stallAfter}, func(t *testing.T, w *world) {
		updates := w.watching("c")
		m, h, id := w.begun("one")
		l, _ := w.m.lanes.find("c")
		for range 20 { // a select takes either of two that are ready
			release := make(chan struct{})
			l.post(func() { <-release })
			w.after(stallAfter)
			h.say(core.Event{Type: "assistant"})
			synctest.Wait()
			close(release)
			synctest.Wait()
		}
		if us := updates.told(core.UpdateStalled); len(us) != 0 {
			t.Errorf("told %+v", us)
		}
		h.answer(id, "at last")
		w.wants(m, core.Answered, "", "at last")
	})
}
