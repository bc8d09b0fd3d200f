package lanes

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// TestAcks: nothing at or behind an event with an effect not durable yet is acknowledged.
func TestAcks(t *testing.T) {
	t.Parallel()
	var got []uint64
	a := &acks{ack: func(seq uint64) { got = append(got, seq) }}
	a.flush()
	first := a.hold() // before the first event: holds all events
	a.last = 3
	a.flush()
	first()
	a.last = 5
	one, two := a.hold(), a.hold()
	a.last = 8
	a.flush()
	one()
	two()
	two() // a second call changes nothing
	a.last = 8 + ackEvery - 1
	a.flushEvery()
	a.last++
	a.flushEvery()
	late := a.hold()
	a.ack = nil // the session has ended
	late()
	if want := []uint64{3, 4, 8, 8 + ackEvery}; !slices.Equal(got, want) {
		t.Errorf("acknowledged %v, want %v", got, want)
	}
}

// TestReplayedTurns: events of a turn with an earlier outcome are replays, from the start of
// the turn to the end.
func TestReplayedTurns(t *testing.T) {
	t.Parallel()
	var r replayedTurns
	state := func(id core.TurnID, p core.Phase) core.Event {
		return core.Event{Kind: core.TurnState, Turn: id, Phase: p}
	}
	for i, step := range []struct {
		ev     core.Event
		open   bool
		replay bool
	}{
		{core.Event{}, false, false},
		{state("old", core.PhaseQueued), false, true},
		{core.Event{}, false, false},
		{state("old", core.PhaseStarted), false, true},
		{core.Event{}, false, true},
		{state("new", core.PhaseQueued), true, false},
		{core.Event{}, false, true},
		{state("older", core.PhaseStarted), false, true},
		{state("old", core.PhaseCompleted), false, true},
		{core.Event{}, false, true},
		{state("new", core.PhaseStarted), true, false},
		{core.Event{}, false, false},
	} {
		if got := r.isReplay(&step.ev, step.open); got != step.replay {
			t.Errorf("event %d is a replay: %v", i, got)
		}
	}
	r = replayedTurns{"a", "b"}
	if r.drop([]core.TurnID{"b", "c"}); !slices.Equal(r, replayedTurns{"a"}) {
		t.Errorf("left %v", r)
	}
}

// TestActivity: the silence of a session counts from the last event, or from the end of the
// time that a tool call has asked for.
func TestActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a activity
		due := func(want time.Duration) {
			t.Helper()
			if got := time.Until(a.stallDue(time.Minute)); got != want {
				t.Errorf("stuck in %v, want %v", got, want)
			}
		}
		a.touch()
		time.Sleep(20 * time.Second)
		due(40 * time.Second)
		a.begin(&core.Event{Tool: "Bash", Target: "make", ToolID: "1", Timeout: 5 * time.Minute})
		due(6 * time.Minute)
		if a.tool != "Bash" || a.describe() != "Bash: make" {
			t.Errorf("in use: %q, known: %q", a.tool, a.describe())
		}
		a.end("1")
		due(40 * time.Second)
		if a.tool != "" || a.describe() != "after Bash: make" {
			t.Errorf("in use: %q, known: %q", a.tool, a.describe())
		}
		a.reported = true
		if !a.stallDue(time.Minute).IsZero() {
			t.Error("a silence is reported once")
		}
		a.touch()
		due(time.Minute)
		a.endTurn()
		if a.describe() != "no tool was used yet" {
			t.Errorf("known: %q", a.describe())
		}
		var b background
		b.setTasks(make([]string, 1))
		if !b.keepsSettings() || b.mayReport() {
			t.Error("a task keeps the settings, and reports nothing")
		}
		b.setTasks(make([]string, 0))
		if !b.keepsSettings() || !b.mayReport() {
			t.Error("the end of the last task may be reported")
		}
		b.expectNews()
		if b.keepsSettings() || !b.mayReport() {
			t.Error("a guess does not keep the settings")
		}
		time.Sleep(core.NewsGrace)
		if b.mayReport() {
			t.Error("a report begins in time, or not at all")
		}
	})
}
