package host

import (
	"time"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// An idleTracker knows since when claude has been idle, and how long an idle claude is
// kept while no daemon is connected. The host's mutex guards it.
type idleTracker struct {
	timeout    time.Duration       // 0: an idle claude is kept for ever
	timer      *time.Timer         // calls host.endIdle; nil before claude has started
	since      time.Time           // of the last line to or from claude, or of the last daemon's leaving
	unfinished map[string]struct{} // turns that claude was given and has not finished
	activity   core.Activity       // claude's work beside these turns
	tasks      []string            // descriptions of the background tasks that are alive
	closing    ending              // why claude is being ended without a daemon's request; notEnding otherwise
}

// An ending is why a host ends its claude without a daemon's request.
type ending int

// The reasons.
const (
	notEnding ending = iota
	endingIdle
	endingOwnTurn // claude has begun a turn by itself while the gateway was stopped
)

// observe notes an event, and reports whether claude begins a turn that nobody asked for.
func (t *idleTracker) observe(ev *claude.Event, now time.Time) (ownTurn bool) {
	t.since = now
	switch ev.Type {
	case claude.TypeLifecycle:
		if turn, phase := ev.Lifecycle(); phase.Done() {
			delete(t.unfinished, turn)
		}
		_, ownTurn = ev.BeginsOwnTurn()
	case claude.TypeAssistant, claude.TypeStreamEvent:
		if !ev.Subagent() {
			t.activity.Speaks(len(t.unfinished) > 0)
		}
	case claude.TypeResult:
		t.activity.TurnEnds()
	case claude.TypeSystem:
		if tasks, ok := ev.BackgroundTasks(); ok {
			t.tasks = tasks
			t.activity.SetTasks(len(tasks), now)
		}
		_, ownTurn = ev.BeginsOwnTurn()
	}
	if ownTurn = ownTurn && len(t.unfinished) == 0; ownTurn {
		t.activity.Speaks(false)
	}
	return ownTurn
}

func (t *idleTracker) restart(now time.Time) {
	t.since = now
	if t.timer != nil && t.timeout > 0 {
		t.timer.Reset(t.timeout)
	}
}

// due returns when an idle claude is to be ended. A claude that works or waits for
// somebody is looked at again after another timeout.
func (t *idleTracker) due(waiting bool, now time.Time) time.Time {
	if waiting || len(t.unfinished) > 0 || t.activity.Busy() {
		return now.Add(t.timeout)
	}
	due := t.since.Add(t.timeout)
	if due.Before(t.activity.NewsUntil) {
		return t.activity.NewsUntil
	}
	return due
}
