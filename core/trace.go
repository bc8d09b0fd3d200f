package core

// A Trace is one message's timeline. Turn is nil before dispatch; QueuePosition is
// where it waits, if it does.
type Trace struct {
	Message   Message
	Turn      *Turn
	Members   []MessageID
	Approvals []Approval
	// Deliveries are what was to be brought to the sender; empty where the adapter
	// answers by itself.
	Deliveries []Delivery
	QueuePosition
}

const (
	// MarkTool marks that a tool was begun; its detail says which.
	MarkTool = "tool"
	// MarkTakenOver marks that another process of the gateway goes on with the turn,
	// which may not hear again what the agent had done.
	MarkTakenOver = "taken_over"
)
