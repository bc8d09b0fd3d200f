package lanes

import (
	"slices"

	"bareclaw/core"
)

// again reports whether the event is of a turn that had its outcome before: a session
// host says it to a new process once more, and nobody is to be told again. It
// follows where the lines of such turns begin and end, so it is asked once of each event.
func (l *lane) isReplay(ev core.Event) bool {
	if ev.Kind != core.TurnState {
		return len(l.replayedTurns) > 0
	}
	is := func(id core.TurnID) bool { return id == ev.Turn }
	switch open := l.findInflight(ev.Turn) != nil; {
	case open && ev.Phase == core.PhaseStarted:
		l.replayedTurns = nil
		return false
	case open:
		return false
	case ev.Phase == core.PhaseStarted && !slices.ContainsFunc(l.replayedTurns, is):
		l.replayedTurns = append(l.replayedTurns, ev.Turn)
	case ev.Phase == core.PhaseCompleted, ev.Phase == core.PhaseCancelled:
		l.replayedTurns = slices.DeleteFunc(l.replayedTurns, is)
	}
	return true
}

// resultedAgain notes that the agent has ended turns that had their outcome before. It
// says so of each once more, but that is no line of a turn.
func (l *lane) dropReplayed(r *core.Result) {
	l.replayedTurns = slices.DeleteFunc(l.replayedTurns, func(id core.TurnID) bool { return slices.Contains(r.Turns, id) })
}

// settled returns those of the turns that have their outcome.
func (l *lane) finishedTurns(turns []core.TurnID) (all []core.TurnID) {
	for _, id := range turns {
		if l.findInflight(id) == nil {
			all = append(all, id)
		}
	}
	return all
}

// speaking returns the turn that what is heard now is of: the running one once the agent
// has begun it. Nil if it is of none, or of one that had its outcome before.
func (l *lane) currentTurn() *inflight {
	if f := l.running(); f != nil && !f.started.IsZero() && len(l.replayedTurns) == 0 {
		return f
	}
	return nil
}
