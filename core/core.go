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

// A ChannelKey names one conversation, for example "tg-123". It is opaque here:
// limits on its form are the adapters' business.
type ChannelKey string

// A MessageID is the UUIDv7 given to an accepted message.
type MessageID string

// A TurnID is the uuid under which a turn is handed to the agent.
type TurnID string

// State says where a message is. Waiting and running messages have no outcome
// yet; the other states are final.
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

// Mode says what a message does to a turn that is running when it arrives.
type Mode string

// The modes of a message. The zero value means [Collect].
const (
	Collect   Mode = "collect"   // wait, and become part of the next turn
	Steer     Mode = "steer"     // hand over at once; the agent folds it into the running turn
	Interrupt Mode = "interrupt" // end the running turn, then run
)

// Origin tells the agent who speaks. Empty fields are left out of the prefix.
type Origin struct {
	User  string `json:"user,omitempty"`
	Chat  string `json:"chat,omitempty"`
	Topic string `json:"topic,omitempty"`
}

// Content is what a message says: either Text, or Blocks in the form of the
// Messages API ({"type":"text",…}, {"type":"image",…}); Blocks win if present.
type Content struct {
	Text   string            `json:"text,omitempty"`
	Blocks []json.RawMessage `json:"blocks,omitempty"`
}

// A Submission is a message as an adapter hands it in.
type Submission struct {
	Channel ChannelKey
	Adapter string // the adapter's name, shown to the agent
	Origin  Origin
	Content Content
	Mode    Mode
	// SourceKey makes delivery idempotent: a second submission with the same key
	// is answered with the first one's ticket. Empty means none.
	SourceKey string
	// SourceHash binds the key to what was submitted; a different hash under the
	// same key is refused with [ErrKeyReused].
	SourceHash string
	// KeyKept is how long after that the key is free again; 0 means never.
	KeyKept time.Duration
	// FormerKey is what an older program recorded as the source key of the same
	// submission on this channel. It counts as SourceKey. Empty means none.
	FormerKey string
	RetryOf   MessageID
	// CanAsk says that somebody behind this adapter can answer permission
	// requests while the turn runs.
	CanAsk bool
	// Deliver asks for a Delivery of the outcome by the adapter.
	Deliver bool
	// Decides is an approval that is decided by accepting this message, or nil.
	Decides *Approval
}

// A Message is an accepted submission and what became of it.
type Message struct {
	ID         MessageID
	Channel    ChannelKey
	Adapter    string
	Origin     Origin
	Content    Content // not in lists; see Ledger.Messages
	Prompt     Prompt  `json:",omitzero"` // describes Content; short where that is left out
	Mode       Mode
	SourceKey  string
	SourceHash string
	KeyKept    time.Duration // as in Submission; read when the message is accepted, not recorded
	FormerKey  string        // likewise
	RetryOf    MessageID
	CanAsk     bool
	Deliver    bool
	ReceivedAt time.Time
	Rank       int // what waits is ordered by it, then by acceptance; 0, or less when it was put first
	// Interrupts is the turn that ran when the message came, if its mode is [Interrupt].
	// It is on record so that a new process ends the turn where the old one had no time to.
	Interrupts TurnID

	State        State
	Turn         TurnID    // the turn it became part of, if any
	DispatchedAt time.Time // when that turn was frozen; zero before
	EndedAt      time.Time // zero while there is no outcome
	Reply        Reply     // meaningful once State is final
}

// A Reply is the outcome of a message.
type Reply struct {
	State     State     // answered, failed or cancelled
	Text      string    // the agent's words, or for a failure what happened and what to do
	IsError   bool      // the text is not an answer
	Code      string    // stable word for a failure; empty when answered
	Error     string    // the failure in a sentence
	Coalesced bool      // another message carries the text
	Into      MessageID // that message
	Via       string    // the adapter that it came in through, if that is another one
	Duration  time.Duration
	CostUSD   float64 // of the turn; 0 when unknown
	SessionID string
	Done      string // of a turn that was cut: the tools that it had begun, for a person
	Notices   []Notice
}

// A Notice is something told once with a reply, such as a session that had to
// be begun anew.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A Turn is one exchange with the agent: one or several messages under one
// uuid, with the exact bytes handed over. It is frozen in the ledger first.
type Turn struct {
	ID        TurnID
	Channel   ChannelKey
	SessionID string // the session it runs in; at the end, the one its result named
	Opens     bool   // it is the first turn of a session whose id was made here
	Members   []MessageID
	Line      []byte // what the agent reads, newline included
	Steered   bool   // handed over while another turn ran
	CanAsk    bool
	BegunAt   time.Time
	Notices   []Notice // to be told with its reply

	// The end, once there is one.
	EndedAt time.Time
	Result  *Result // nil when the turn ended without the agent's own result
	CostUSD float64 // what it added to the session's total; 0 when unknown
	Code    string  // as in Reply
	Marks   []Mark
}

// A Mark is one point on a turn's timeline.
type Mark struct {
	At     time.Time     `json:"at"`
	What   string        `json:"what"`
	Detail string        `json:"detail,omitempty"`
	Took   time.Duration `json:"took_ns,omitempty"` // of a tool, once it has ended
}

// A Background is a result that belongs to no message: a task of the agent that
// finished after its turn had ended.
type Background struct {
	ID        string
	Channel   ChannelKey
	Text      string
	IsError   bool
	CreatedAt time.Time

	// What it is for the ledger to count, which it does not show again.
	SessionID string
	CostUSD   float64
	TotalCost float64 // USD, running total of the session after it
}

// An Approval is something that a person decides: a tool permission the agent
// asked for, or whether a turn that was cut is gone on with. By two tools the agent asks
// that person something itself; see [ToolAskUser] and [ToolExitPlan].
type Approval struct {
	ID         string
	Kind       ApprovalKind
	Channel    ChannelKey
	Message    MessageID
	Prompt     Prompt `json:",omitzero"` // of Message, short; zero where it is not known
	Turn       TurnID
	RequestID  string // the agent's own id for it
	Tool       string
	Input      json.RawMessage
	Suggestion json.RawMessage // permission rules the agent proposes
	CreatedAt  time.Time
	ExpiresAt  time.Time

	State     ApprovalState
	Reason    string    // what the agent was told on a denial
	Retry     MessageID // the message that goes on with the turn, once that was allowed
	DecidedBy string    // who decided it, as an adapter says; may be empty
	DecidedAt time.Time
}

// ApprovalKind says what an approval is about. The zero value is a tool.
type ApprovalKind string

// The kinds of approvals.
const (
	ApprovalTool     ApprovalKind = ""         // Tool, Input, Suggestion, RequestID; the turn waits for it
	ApprovalContinue ApprovalKind = "continue" // Message and Turn are those that were cut; nothing waits
)

// ApprovalState says where an approval is; all but pending are final.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending ApprovalState = "pending"
	ApprovalAllowed ApprovalState = "allowed"
	ApprovalDenied  ApprovalState = "denied"
	ApprovalExpired ApprovalState = "expired" // nobody answered in time: denied
	ApprovalVoid    ApprovalState = "void"    // the turn ended or its process died first
)

// A Decision answers an approval.
type Decision struct {
	Allow        bool
	Message      string          // told to the agent on a denial
	UpdatedInput json.RawMessage // replaces the tool's input when allowed; nil keeps it
	Remember     bool            // allow the suggested rule for the rest of the agent's process
	// Always writes the rules that AlwaysRules names to the channel, in the same
	// change as the decision, and tells the agent's process of them.
	Always bool
	By     string // who decides, noted with the decision and these rules; may be empty
}
