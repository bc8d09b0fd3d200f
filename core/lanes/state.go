package lanes

import (
	"context"
	"log/slog"
)

// A state says what a lane can do.
type state int

// The states of a lane.
const (
	stateIdle     state = iota // a turn may begin
	stateStarting              // earlier processes and turns are being looked up, or the ledger is waited for
	stateRunning               // turns are in flight
	stateParked                // no turn begins, for a cause outside the messages
	stateDraining              // the session is being ended
	stateClosed                // the gateway leaves the channel
)

func (s state) String() string {
	return [...]string{"idle", "starting", "running", "parked", "draining", "closed"}[s]
}

// A condition is a state and its reason. A lane has at most one operation (starting,
// recovering, resetting …), which is a condition too: meanwhile no turn begins, and none is
// handed over.
type condition struct {
	state  state
	reason string
}

// The operations of a lane, besides turns.
var (
	noOperation    = condition{}
	attaching      = condition{stateStarting, "looking for the session host"}
	recovering     = condition{stateStarting, "recovering"}
	afterFault     = condition{stateStarting, "recovering from a fault"}
	awaitingLedger = condition{stateStarting, "waiting for the ledger"}
	endingUnused   = condition{stateDraining, "ending the unused session"}
	resetting      = condition{stateDraining, "closing the channel"}
	leaving        = condition{stateClosed, "closing"}
)

// nextCondition returns the condition of a lane with the given operation: an operation comes
// before turns in flight, and turns before the reason for being parked.
func nextCondition(operation condition, turns int, parked *park) condition {
	switch {
	case operation != noOperation:
		return operation
	case turns > 0:
		return condition{stateRunning, "turns in flight"}
	case parked != nil:
		return condition{stateParked, parked.code}
	}
	return condition{}
}

// A machine holds the state of a lane.
type machine struct {
	log       *slog.Logger
	facts     func() (turns int, parked *park)
	operation condition // present operation; noOperation without one
	condition condition // present state with the reason, as of the last transition
}

// begin begins an operation, in place of the present operation. A leaving lane stays closed.
func (m *machine) begin(operation condition) {
	if m.operation != leaving {
		m.operation = operation
	}
	m.transition()
}

// end ends the present operation.
func (m *machine) end() { m.begin(noOperation) }

// isBusy reports whether an operation keeps the lane from handing over, and beginning, turns.
func (m *machine) isBusy() bool { return m.operation != noOperation }

// transition brings the state up to date, and is the only place that changes the state.
func (m *machine) transition() {
	turns, parked := m.facts()
	was := m.condition
	m.condition = nextCondition(m.operation, turns, parked)
	if m.condition != was && m.log.Enabled(context.Background(), slog.LevelDebug) {
		m.log.Debug("lane changes state", "state", m.condition.state.String(), "reason", m.condition.reason, "was", was.state.String())
	}
}
