package lanes

import (
	"slices"

	"bareclaw/core"
)

// isReplay reports whether the event belongs to a turn with an earlier outcome. A session
// host replays such events to a new process, and subscribers must not receive the events
// again. isReplay tracks the beginning and end of such turns, and must be called once per
// event.
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

// dropReplayed removes the result's turns from the replayed turns. The agent reports the end
// of each turn once more, outside the turn's lines.
func (l *lane) dropReplayed(r *core.Result) {
	l.replayedTurns = slices.DeleteFunc(l.replayedTurns, func(id core.TurnID) bool { return slices.Contains(r.Turns, id) })
}

// finishedTurns returns the turns with an outcome.
func (l *lane) finishedTurns(turns []core.TurnID) (all []core.TurnID) {
	for _, id := range turns {
		if l.findInflight(id) == nil {
			all = append(all, id)
		}
	}
	return all
}

// currentTurn returns the turn of the present events: the running turn once the agent has
// begun the turn. currentTurn returns nil for events outside a turn, or of a replayed turn.
func (l *lane) currentTurn() *inflight {
	if f := l.running(); f != nil && !f.started.IsZero() && len(l.replayedTurns) == 0 {
		return f
	}
	return nil
}
