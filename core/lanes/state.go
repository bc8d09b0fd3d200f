package lanes

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

// beginOperation begins an operation, in place of the present operation. A leaving lane begins no
// other operation.
func (c *channel) beginOperation(next laneOperation) {
	if c.operation == leaving || c.operation == next {
		return
	}
	c.log.Debug("lane changes state", "operation", string(next), "was", string(c.operation))
	c.operation = next
}

func (c *channel) endOperation() { c.beginOperation(noOperation) }

func (c *channel) isBusy() bool { return c.operation != noOperation }
