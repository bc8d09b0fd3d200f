package api

import "time"

// Kinds of the events of a stream. The data of an accepted event is an Accepted, of a
// result a Message, of approvals an Approval, of a notice a Notice; that of an
// agent event is a line of the agent's stream-JSON output.
const (
	EventAccepted       = "accepted"
	EventQueued         = "queued"
	EventStarted        = "started"
	EventAgent          = "event"
	EventResult         = "result"
	EventApproval       = "approval"
	EventApprovalClosed = "approval_closed"
	EventBackground     = "background"
	EventNotice         = "notice"
	EventRestarting     = "restarting"
	EventShutdown       = "shutdown"
)

// NoticeGap is the code of the notice that events may be missing in a stream.
const NoticeGap = "gap"

// NoticeDropped is the code of the notice that the client read too slowly.
const NoticeDropped = "dropped"

// Queued is the data of an event: the position of a message in its queue.
type Queued struct {
	ID       string `json:"message_id"`
	Position int    `json:"position"`
	Why      string `json:"why,omitzero"`
}

// Started is the data of an event: a turn and its messages.
type Started struct {
	TurnID   string   `json:"turn_id"`
	Messages []string `json:"messages"`
}

// Background is a result of a task that went on after its turn.
type Background struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"`
	IsError   bool      `json:"is_error"`
	CreatedAt time.Time `json:"created_at"`
}

// Ending is the data of the last event of a stream when the gateway ends.
type Ending struct {
	Text     string `json:"text"`
	Location string `json:"location,omitzero"`
	Events   string `json:"events"`
}
