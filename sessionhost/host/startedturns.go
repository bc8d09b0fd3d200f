package host

import (
	"slices"

	"bareclaw/sessionhost/claude"
)

// A worklist knows which turns claude had begun, and was not done with, before the
// first of the entries that a log keeps. A daemon cannot tell from those entries which
// turn they begin with: the line that says so may have been acknowledged.
type startedTurns struct {
	before []string // before the first entry
	steps  []step   // that the entries tell, ascending
}

// A step is the beginning or the end of claude's work on a turn.
type step struct {
	seq  uint64
	turn string
	done bool
}

// stepOf returns the step that an event tells, if it tells one.
func stepOf(ev claude.Event) (s step, ok bool) {
	if ev.Type != claude.TypeLifecycle {
		return step{}, false
	}
	l, err := ev.Lifecycle()
	s = step{turn: l.UUID, done: l.Done()}
	return s, err == nil && (s.done || l.State == claude.StateStarted)
}

// forget takes the steps up to an entry as taken: it is not kept any more.
func (w *startedTurns) apply(seq uint64) {
	n := 0
	for ; n < len(w.steps) && w.steps[n].seq <= seq; n++ {
		s := w.steps[n]
		switch at := slices.Index(w.before, s.turn); {
		case s.done && at >= 0:
			w.before = slices.Delete(w.before, at, at+1)
		case !s.done && at < 0:
			w.before = append(w.before, s.turn)
		}
	}
	if w.steps = w.steps[n:]; len(w.steps) == 0 {
		w.steps = nil
	}
}
