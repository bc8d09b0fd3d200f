package api

import (
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// States of a message. The first two are not final.
const (
	Waiting   = "waiting"
	Running   = "running"
	Answered  = "answered"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// A MessageRequest is the body of POST /message. Content wins over Text.
type MessageRequest struct {
	Text    string            `json:"text,omitzero"`
	Content []json.RawMessage `json:"content,omitzero"`
	Channel string            `json:"channel,omitzero"`
	Mode    string            `json:"mode,omitzero"`
	CanAsk  bool              `json:"can_ask,omitzero"`
	Context Origin            `json:"context,omitzero"`
}

// An Origin says who sent a message.
type Origin struct {
	User  string `json:"user"`
	Chat  string `json:"chat"`
	Topic string `json:"topic"`
}

// A Prompt is the text of a message, and a description of its media.
type Prompt struct {
	Text      string  `json:"text"`
	Truncated bool    `json:"truncated,omitzero"`
	User      string  `json:"user,omitzero"`
	Blocks    []Block `json:"blocks,omitzero"`
}

// A Block describes a content block.
type Block struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitzero"`
	Bytes     int64  `json:"bytes,omitzero"`
}

// Accepted is a message without its outcome: the reply 202 and the event accepted.
type Accepted struct {
	ID         string    `json:"message_id"`
	Channel    string    `json:"channel"`
	State      string    `json:"state"`
	Prompt     Prompt    `json:"prompt"`
	TurnID     string    `json:"turn_id,omitzero"`
	Adapter    string    `json:"adapter,omitzero"`
	RetryOf    string    `json:"retry_of,omitzero"`
	Position   int       `json:"position,omitzero"`
	Why        string    `json:"why,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	ReceivedAt time.Time `json:"received_at"`
}

// Final reports whether the message has its outcome.
func (a *Accepted) Final() bool { return a.State != Waiting && a.State != Running }

// A Message is a message with its outcome, once there is one.
type Message struct {
	Accepted

	Text       string    `json:"text"`
	IsError    bool      `json:"is_error"`
	DurationMS int64     `json:"duration_ms"`
	Coalesced  bool      `json:"coalesced,omitzero"`
	Into       string    `json:"into,omitzero"`
	CostUSD    float64   `json:"cost_usd,omitzero"`
	SessionID  string    `json:"session_id,omitzero"`
	Error      string    `json:"error,omitzero"`
	Code       string    `json:"code,omitzero"`
	Notices    []Notice  `json:"notices,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
}

// MarshalJSONTo leaves the outcome out while there is none.
func (m *Message) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Message
	if m.Final() {
		return jsonv2.MarshalEncode(enc, (*plain)(m))
	}
	return jsonv2.MarshalEncode(enc, &m.Accepted)
}

// A Notice is something that a person is told once.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A Trace is the history of a message.
type Trace struct {
	Message    Message    `json:"message"`
	Members    []string   `json:"members"`
	Approvals  []Approval `json:"approvals"`
	Deliveries []Delivery `json:"deliveries"`
	Timeline   []Mark     `json:"timeline"`
	Durations  Durations  `json:"durations"`
}

// A Delivery is something that an adapter sends to the sender of a message.
type Delivery struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Adapter   string    `json:"adapter"`
	Channel   string    `json:"channel"`
	State     string    `json:"state"`
	Attempts  int       `json:"attempts"`
	Error     string    `json:"error,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

// A Mark is a step of a message.
type Mark struct {
	What    string    `json:"what"`
	Detail  string    `json:"detail,omitzero"`
	At      time.Time `json:"at"`
	AfterMS int64     `json:"after_ms"`
	TookMS  int64     `json:"took_ms,omitzero"`
}

// Durations are the stages of a message, each once it has ended.
type Durations struct {
	QueuedMS     *int64 `json:"queued_ms,omitzero"`
	FirstEventMS *int64 `json:"first_event_ms,omitzero"`
	RunningMS    *int64 `json:"running_ms,omitzero"`
	TotalMS      *int64 `json:"total_ms,omitzero"`
}

// Content is the reply to GET /messages/{id}/content: members of a MessageRequest, as submitted.
type Content struct {
	ID      string            `json:"message_id"`
	Channel string            `json:"channel"`
	Context Origin            `json:"context"`
	Text    string            `json:"text,omitzero"`
	Content []json.RawMessage `json:"content,omitzero"`
}

// A SendRequest is the body of POST /send.
type SendRequest struct {
	Channel string `json:"channel"`
	Text    string `json:"text,omitzero"`
	Media   *Media `json:"media,omitzero"`
}

// Media is a file to send.
type Media struct {
	Path string `json:"filePath"`
	Type string `json:"type,omitzero"`
}

// Sent is the reply to POST /send.
type Sent struct {
	Status  string `json:"status"`
	Channel string `json:"channel"`
}

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
	WokenBy   string    `json:"woken_by,omitzero"`
	IsError   bool      `json:"is_error"`
	CreatedAt time.Time `json:"created_at"`
}

// ToolChange is the data of the events of tools, whose names are the kinds of the updates.
type ToolChange struct {
	Tool    string `json:"tool"`
	Source  string `json:"source"`
	Mount   string `json:"mount,omitzero"`
	Version int64  `json:"version"`
}

// Ending is the data of the last event of a stream when the gateway ends.
type Ending struct {
	Text     string `json:"text"`
	Location string `json:"location,omitzero"`
	Events   string `json:"events"`
}
