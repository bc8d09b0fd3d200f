// Package core declares the gateway's vocabulary: messages, turns, replies, approvals,
// updates and settings, the interfaces [Ledger], [Agent] and [SessionIDs], and the rules
// that need no state. Package lanes serves channels with them.
//
// The gateway guarantees that every accepted message has exactly one outcome (answered,
// failed, cancelled) or is still waiting, that the messages of one channel are served
// strictly in order, and that channels never wait for each other.
package core

import (
	"encoding/json"
	"time"
)

// A ChannelKey names a conversation, for example "tg-123". The core treats keys as opaque;
// adapters limit their form.
type ChannelKey string

// A MessageID is the UUIDv7 given to an accepted message.
type MessageID string

// A TurnID is the UUID under which a turn is handed to the agent.
type TurnID string

// State is the progress of a message. Waiting and running messages have no outcome yet; all
// further states are final.
type State string

// The states of a message.
const (
	Waiting   State = "waiting"
	Running   State = "running"
	Answered  State = "answered"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether the state is an outcome.
func (s State) Final() bool { return s == Answered || s == Failed || s == Cancelled }

// Mode sets the effect of a message on a turn that is running at the message's arrival.
type Mode string

// The modes of a message. The zero value means [Collect].
const (
	Collect   Mode = "collect"   // wait, and become part of the next turn
	Steer     Mode = "steer"     // hand over at once; the agent folds the message into the running turn
	Interrupt Mode = "interrupt" // end the running turn, then run
	// Join continues what the same sender has just sent. A running turn of that sender that has
	// done nothing yet is begun again with both; a turn that has is handed the message at once.
	Join Mode = "join"
)

// Origin tells the agent the source of a message. Empty fields are left out of the prefix.
type Origin struct {
	User  string `json:"user,omitempty"`
	Chat  string `json:"chat,omitempty"`
	Topic string `json:"topic,omitempty"`
}

// Content is the body of a message: either Text, or Blocks in the form of the Messages API
// ({"type":"text",…}, {"type":"image",…}). Blocks win if present.
type Content struct {
	Text   string            `json:"text,omitempty"`
	Blocks []json.RawMessage `json:"blocks,omitempty"`
}

// A Submission is a message as submitted by an adapter.
type Submission struct {
	Channel ChannelKey
	Adapter string // the adapter's name, shown to the agent
	Origin  Origin
	Content Content
	Mode    Mode
	// SourceKey makes delivery idempotent: a second submission with the same key returns the
	// first submission's ticket. Empty means none.
	SourceKey string
	// SourceHash binds the key to the submitted content; a different hash under the same key
	// is refused with [ErrKeyReused].
	SourceHash string
	// KeyKept is how long the key stays reserved after acceptance; 0 means forever.
	KeyKept time.Duration
	RetryOf MessageID
	// CanAsk reports whether a person behind the adapter can answer permission requests
	// while the turn runs.
	CanAsk bool
	// Deliver asks for a Delivery of the outcome by the adapter.
	Deliver bool
	// Depth is the number of agents that asked, each for the one before, until this message was sent; 0
	// for a message of a person, a program or a schedule.
	Depth int
	// Decides is the approval decided by accepting the message, or nil.
	Decides *Approval
}

// A Message is an accepted submission and its outcome. The tags of a Message, a [Reply], an
// [Approval] and a [Turn] name the fields in the ledger's documents and in saved feeds.
type Message struct {
	ID         MessageID     `json:"id,omitempty"`
	Channel    ChannelKey    `json:"channel,omitempty"`
	Adapter    string        `json:"adapter,omitempty"`
	Origin     Origin        `json:"origin,omitzero"`
	Content    Content       `json:"content,omitzero"` // absent in lists; see Ledger.Messages
	Prompt     Prompt        `json:"prompt,omitzero"`  // describes Content; short where Content is absent
	Mode       Mode          `json:"mode,omitempty"`
	SourceKey  string        `json:"source_key,omitempty"`
	SourceHash string        `json:"source_hash,omitempty"`
	KeyKept    time.Duration `json:"key_kept,omitempty"` // as in Submission; read at acceptance, not recorded
	RetryOf    MessageID     `json:"retry_of,omitempty"`
	CanAsk     bool          `json:"can_ask,omitempty"`
	Deliver    bool          `json:"deliver,omitempty"`
	Depth      int           `json:"depth,omitempty"` // as in Submission
	ReceivedAt time.Time     `json:"received_at,omitzero"`
	Rank       int           `json:"rank,omitempty"` // waiting messages run by ascending Rank, then in order of acceptance; negative for a message put first
	// Interrupts is the turn running at the arrival of a message with mode [Interrupt]. If
	// the process dies before ending the turn, the next process reads Interrupts.
	Interrupts TurnID `json:"interrupts,omitempty"`

	State        State     `json:"state,omitempty"`
	Turn         TurnID    `json:"turn,omitempty"`         // the turn with the message as a member, if any
	DispatchedAt time.Time `json:"dispatched_at,omitzero"` // when Turn was frozen; zero before
	EndedAt      time.Time `json:"ended_at,omitzero"`      // zero without an outcome
	Reply        Reply     `json:"reply,omitzero"`         // meaningful once State is final
}

// A Reply is the outcome of a message.
type Reply struct {
	State     State         `json:"state,omitempty"`     // answered, failed or cancelled
	Text      string        `json:"text,omitempty"`      // the agent's words, or for a failure the reason and the remedy
	IsError   bool          `json:"is_error,omitempty"`  // the text is not an answer
	Code      string        `json:"code,omitempty"`      // stable word for a failure; empty when answered
	Error     string        `json:"error,omitempty"`     // the failure in a sentence
	Coalesced bool          `json:"coalesced,omitempty"` // another message carries the text
	Into      MessageID     `json:"into,omitempty"`      // the message with the text, if Coalesced
	Via       string        `json:"via,omitempty"`       // adapter that received the message carrying the text, if different
	Duration  time.Duration `json:"duration_ns,omitempty"`
	CostUSD   float64       `json:"cost_usd,omitempty"` // of the turn; 0 when unknown
	SessionID string        `json:"session_id,omitempty"`
	Done      string        `json:"done,omitempty"` // tools begun by an aborted turn, for a person
	Notices   []Notice      `json:"notices,omitempty"`
}

// A Notice is reported once with a reply, for example that a session had to be begun anew.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A Turn is an exchange with the agent: a group of messages under a UUID, with the exact
// bytes handed over. The ledger records the frozen turn before the agent receives the bytes.
type Turn struct {
	ID        TurnID      `json:"id,omitempty"`
	Channel   ChannelKey  `json:"channel,omitempty"`
	SessionID string      `json:"session_id,omitempty"` // session of the turn; at the end, the session named by the result
	Opens     bool        `json:"opens,omitempty"`      // first turn of a session whose id the gateway generated
	Members   []MessageID `json:"members,omitempty"`
	Line      []byte      `json:"line,omitempty"`    // bytes read by the agent, newline included
	Steered   bool        `json:"steered,omitempty"` // handed over while another turn ran
	CanAsk    bool        `json:"can_ask,omitempty"`
	BegunAt   time.Time   `json:"begun_at,omitzero"`
	Notices   []Notice    `json:"notices,omitempty"` // notices to report with the turn's reply

	// Set when the turn ends.
	EndedAt time.Time `json:"ended_at,omitzero"`
	Result  *Result   `json:"result,omitempty"`   // nil when the turn ended without the agent's own result
	CostUSD float64   `json:"cost_usd,omitempty"` // cost added to the session's total; 0 when unknown
	Code    string    `json:"code,omitempty"`     // as in Reply
	Marks   []Mark    `json:"marks,omitempty"`
}

// A Mark is a point on a turn's timeline.
type Mark struct {
	At     time.Time     `json:"at"`
	What   string        `json:"what"`
	Detail string        `json:"detail,omitempty"`
	Took   time.Duration `json:"took_ns,omitempty"` // duration of an ended tool
}

// A Background is a result without a message: of a turn that the agent began by itself, for
// example when a task had finished after the end of its turn.
type Background struct {
	ID        string
	Channel   ChannelKey
	Text      string // empty if the agent said nothing: the result is counted, and told to nobody
	WokenBy   string // what began the turn, for a person; empty if unknown
	IsError   bool
	CreatedAt time.Time

	// SessionID, CostUSD and TotalCost are counted by the ledger, and absent when a
	// Background is read.
	SessionID string
	CostUSD   float64
	TotalCost float64 // USD, running total of the session after the result
}

// An Approval is a decision for a person: whether to allow a tool requested by the agent, or
// whether to continue an aborted turn. The agent puts questions to the person with two
// tools, [ToolAskUser] and [ToolExitPlan].
type Approval struct {
	ID         string          `json:"id,omitempty"`
	Kind       ApprovalKind    `json:"kind,omitempty"`
	Channel    ChannelKey      `json:"channel,omitempty"`
	Message    MessageID       `json:"message,omitempty"`
	Prompt     Prompt          `json:"prompt,omitzero"` // short prompt of Message; zero if unknown
	Turn       TurnID          `json:"turn,omitempty"`
	RequestID  string          `json:"request_id,omitempty"` // the agent's own id of the request
	Tool       string          `json:"tool,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Suggestion json.RawMessage `json:"suggestion,omitempty"` // permission rules proposed by the agent
	Why        string          `json:"why,omitempty"`        // why a person is asked, in a sentence; empty: the tool is not allowed yet
	CreatedAt  time.Time       `json:"created_at,omitzero"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`

	State     ApprovalState `json:"state,omitempty"`
	Reason    string        `json:"reason,omitempty"` // message to the agent on a denial
	Retry     MessageID     `json:"retry,omitempty"`  // message that continues the turn, once continuing was allowed
	DecidedBy string        `json:"by,omitempty"`     // the deciding person's name from the adapter; may be empty
	DecidedAt time.Time     `json:"decided_at,omitzero"`
}

// ApprovalKind is the subject of an approval. The zero value is a tool.
type ApprovalKind string

// The kinds of approvals.
const (
	ApprovalTool     ApprovalKind = ""         // Tool, Input, Suggestion, RequestID; the turn waits for the decision
	ApprovalCall     ApprovalKind = "call"     // likewise, for a call of one of the gateway's tools; Why
	ApprovalContinue ApprovalKind = "continue" // Message and Turn were aborted; no turn waits
)

// ApprovalState is the progress of an approval; all states but pending are final.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending ApprovalState = "pending"
	ApprovalAllowed ApprovalState = "allowed"
	ApprovalDenied  ApprovalState = "denied"
	ApprovalExpired ApprovalState = "expired" // no answer in time: denied
	ApprovalVoid    ApprovalState = "void"    // the turn ended, or the turn's process died first
)

// A Decision answers an approval.
type Decision struct {
	Allow        bool
	Message      string          // message to the agent on a denial
	UpdatedInput json.RawMessage // replaces the tool's input when allowed; nil keeps the input
	Remember     bool            // allow the suggested rule for the rest of the agent's process
	// Always writes the rules of AlwaysRules to the channel, in the same change as the
	// decision, and sends the rules to the agent's process.
	Always bool
	By     string // the deciding person, recorded with the decision and the rules; may be empty
}
