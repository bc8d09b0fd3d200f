package lanes

import (
	"testing"

	"bareclaw/core"
)

// Who shares a turn with a message of another adapter is told of which: it may see that
// reply nowhere else.
func TestCarrierOfAnotherAdapter(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		by := func(adapter string) func(*core.Submission) { return func(s *core.Submission) { s.Adapter = adapter } }
		_, h, id := w.begun("one")
		two, three := w.submit("two", by("http")), w.submit("three", by("telegram"))
		last := w.submit("last", by("telegram"))
		h.finish(id, "1")
		w.answer("all")
		for m, want := range map[*core.Ticket]string{two: "telegram", three: "", last: ""} {
			if got := w.outcome(m).Reply; got.Via != want || got.Coalesced != (m != last) {
				t.Errorf("%s has %+v, want via %q", m.Message.Adapter, got, want)
			}
		}
	})
}
