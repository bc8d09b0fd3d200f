package core

import "slices"

// again reports whether the event is of a turn that had its outcome before: a session
// host says it to a new process once more, and nobody is to be told again. It
// follows where the lines of such turns begin and end, so it is asked once of each event.
func (l *lane) again(ev Event) bool {
	if ev.Kind != TurnState {
		return len(l.past) > 0
	}
	is := func(id TurnID) bool { return id == ev.Turn }
	switch open := l.flight(ev.Turn) != nil; {
	case open && ev.Phase == PhaseStarted:
		l.past = nil
		return false
	case open:
		return false
	case ev.Phase == PhaseStarted && !slices.ContainsFunc(l.past, is):
		l.past = append(l.past, ev.Turn)
	case ev.Phase == PhaseCompleted, ev.Phase == PhaseCancelled:
		l.past = slices.DeleteFunc(l.past, is)
	}
	return true
}

// resultedAgain notes that the agent has ended turns that had their outcome before. It
// says so of each once more, but that is no line of a turn.
func (l *lane) resultedAgain(r *Result) {
	l.past = slices.DeleteFunc(l.past, func(id TurnID) bool { return slices.Contains(r.Turns, id) })
}

// settled returns those of the turns that have their outcome.
func (l *lane) settled(turns []TurnID) (all []TurnID) {
	for _, id := range turns {
		if l.flight(id) == nil {
			all = append(all, id)
		}
	}
	return all
}

// speaking returns the turn that what is heard now is of: the running one once the agent
// has begun it. Nil if it is of none, or of one that had its outcome before.
func (l *lane) speaking() *flight {
	if f := l.running(); f != nil && !f.started.IsZero() && len(l.past) == 0 {
		return f
	}
	return nil
}
