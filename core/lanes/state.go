package lanes

import "log/slog"

// A laneOperation keeps a lane from handing over, and beginning, turns. A lane has at most one
// operation, named for the log.
type laneOperation string

// The operations of a lane.
const (
	noOperation    laneOperation = ""
	attaching      laneOperation = "looking for the session host"
	recovering     laneOperation = "recovering"
	afterFault     laneOperation = "recovering from a fault"
	awaitingLedger laneOperation = "waiting for the ledger"
	endingUnused   laneOperation = "ending the unused session"
	resetting      laneOperation = "closing the channel"
	leaving        laneOperation = "leaving the channel"
)

// A machine holds the present operation of a lane.
type machine struct {
	log       *slog.Logger
	operation laneOperation
}

// begin begins an operation, in place of the present operation. A leaving lane begins no
// other operation.
func (m *machine) begin(next laneOperation) {
	if m.operation == leaving || m.operation == next {
		return
	}
	m.log.Debug("lane changes state", "operation", string(next), "was", string(m.operation))
	m.operation = next
}

func (m *machine) end() { m.begin(noOperation) }

func (m *machine) isBusy() bool { return m.operation != noOperation }
