package lanes

import (
	"slices"

	"bareclaw/core"
)

// replayedTurns are the turns with an earlier outcome whose events a session host replays to
// a new process. Subscribers must not receive the events again.
type replayedTurns []core.TurnID

// isReplay reports whether the event belongs to a turn with an earlier outcome, and must be
// called once per event. open reports whether the event's turn has no outcome yet.
func (r *replayedTurns) isReplay(ev core.Event, open bool) bool {
	if ev.Kind != core.TurnState {
		return len(*r) > 0
	}
	is := func(id core.TurnID) bool { return id == ev.Turn }
	switch {
	case open && ev.Phase == core.PhaseStarted:
		*r = nil
		return false
	case open:
		return false
	case ev.Phase == core.PhaseStarted && !slices.ContainsFunc(*r, is):
		*r = append(*r, ev.Turn)
	case ev.Phase == core.PhaseCompleted, ev.Phase == core.PhaseCancelled:
		*r = slices.DeleteFunc(*r, is)
	}
	return true
}

// drop removes the turns of a result. The agent reports the end of each turn once more,
// outside the turn's lines.
func (r *replayedTurns) drop(turns []core.TurnID) {
	*r = slices.DeleteFunc(*r, func(id core.TurnID) bool { return slices.Contains(turns, id) })
}

// ackEvery is how many handled events cause an acknowledgement when no other reason does.
const ackEvery = 64

// acks decides which events of a session to acknowledge. An event with an effect not durable
// yet, and all later events, stay unacknowledged, because a new process would need the
// events again.
type acks struct {
	ack   func(seq uint64) // nil after the session's end
	last  uint64           // last event handled
	acked uint64           // last event acknowledged
	holds []uint64         // events with an effect not durable yet, ascending
}

// flush acknowledges all events that need no replay.
func (a *acks) flush() {
	seq := a.last
	if len(a.holds) > 0 {
		seq = min(seq, a.holds[0]-1)
	}
	if a.ack != nil && seq > a.acked {
		a.acked = seq
		a.ack(seq)
	}
}

// flushEvery calls flush if ackEvery events are not acknowledged.
func (a *acks) flushEvery() {
	if a.last-a.acked >= ackEvery {
		a.flush()
	}
}

// hold keeps the newest event, and all later events, unacknowledged until the caller calls
// release.
func (a *acks) hold() (release func()) {
	seq := max(1, a.last) // 1: before the first event, hold all events
	a.holds = append(a.holds, seq)
	return func() {
		if i := slices.Index(a.holds, seq); i >= 0 { // the same event may be held several times
			a.holds = slices.Delete(a.holds, i, i+1)
		}
		a.flush()
	}
}
