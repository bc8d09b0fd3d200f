package host

import (
	"slices"

	"bareclaw/sessionhost/claude"
)

// startedTurns are the turns that claude had begun, and not finished, before the first kept
// entry of a log. A daemon cannot tell the current turn from the kept entries: the entry
// with its beginning may be acknowledged.
type startedTurns struct {
	before []string // unfinished before the first entry
	steps  []step   // told by kept entries, ascending
}

// A step is the beginning or the end of claude's work on a turn.
type step struct {
	seq  uint64
	turn string
	done bool
}

// stepOf returns the step that an event tells, if any.
func stepOf(ev claude.Event) (s step, ok bool) {
	if ev.Type != claude.TypeLifecycle {
		return step{}, false
	}
	l, err := ev.Lifecycle()
	s = step{turn: l.UUID, done: l.Done()}
	return s, err == nil && (s.done || l.State == claude.StateStarted)
}

// apply takes the steps up to an acknowledged entry.
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
