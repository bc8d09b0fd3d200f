package core

// A Trace is the timeline of a message. Turn is nil before dispatch; QueuePosition is the
// place of a waiting message.
type Trace struct {
	Message   Message
	Turn      *Turn
	Members   []MessageID
	Approvals []Approval
	// Deliveries are the deliveries to the sender; empty if the adapter answers by itself.
	Deliveries []Delivery
	QueuePosition
}

const (
	// MarkTool marks the begin of a tool, named by the mark's detail.
	MarkTool = "tool"
	// MarkTakenOver marks that another process of the gateway continues the turn, and may
	// not receive the agent's earlier work again.
	MarkTakenOver = "taken_over"
)
