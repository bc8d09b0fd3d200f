package core

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UpdateKind is the kind of an [Update].
type UpdateKind string

// The kinds of updates.
const (
	UpdateAccepted       UpdateKind = "accepted" // Message
	UpdateQueued         UpdateKind = "queued"   // Message, Position; Detail: reason to wait besides earlier messages; Turn: that has gone back to the queue, if any
	UpdateStarted        UpdateKind = "started"  // Turn, Messages
	UpdateEvent          UpdateKind = "event"    // Turn, Messages, Raw
	UpdateResult         UpdateKind = "result"   // Message with its outcome; a single update for each message
	UpdateApproval       UpdateKind = "approval" // Approval
	UpdateApprovalClosed UpdateKind = "approval_closed"
	UpdateBackground     UpdateKind = "background" // Background
	UpdateRetrying       UpdateKind = "retrying"   // Detail
	UpdateStalled        UpdateKind = "stalled"    // Turn, Messages, Detail: duration of the silence, and the last activity before
	UpdateParked         UpdateKind = "parked"     // Messages that wait, Detail: why no turn is begun, and until when
	UpdateHeld           UpdateKind = "held"       // Turn, Messages, Detail: why the agent cannot be started now, for a turn that waits until it can
	UpdateSession        UpdateKind = "session"    // Detail: the event in the session's life
	UpdateDropped        UpdateKind = "dropped"    // Dropped events: the subscriber was too slow
)

// The kinds of updates on the feed of the gateway itself.
const (
	UpdateToolRegistered UpdateKind = "tool:registered"   // Tool: there was none of its name
	UpdateToolReloaded   UpdateKind = "tool:hot-reloaded" // Tool: its description, schemas, hints or code are others
	UpdateToolRemoved    UpdateKind = "tool:removed"      // Tool: there is none of its name any more
)

// GatewayFeed is the key of the feed of the gateway itself, which tells what concerns no single
// channel. No channel has an empty key.
const GatewayFeed ChannelKey = ""

// An Update is an event on a channel, or of the gateway itself. The Message of an Update has no
// content.
type Update struct {
	ID         UpdateID // zero for UpdateDropped
	Kind       UpdateKind
	At         time.Time
	Turn       TurnID
	Messages   []MessageID
	Message    *Message
	Position   int
	Raw        json.RawMessage // the agent's line, unchanged; must not be modified
	Approval   *Approval
	Background *Background
	Tool       *ToolChange
	Detail     string
	Dropped    int
}

// A ToolChange describes a tool that has appeared, changed or gone.
type ToolChange struct {
	Tool    string // its name
	Source  string // the name of the source that has the tool, or had it
	Mount   string // the mounted server that has the tool; empty: none
	Version int64  // of the registry with the change: increases with each change while a process lasts
}

// An UpdateID identifies an update among all updates of the channel, even across restarts of
// the gateway. The zero value identifies no update. Clients must treat the text form as
// opaque.
type UpdateID struct {
	Stream uint64 // random number of the channel's stream
	Number uint64 // increases by one with each update of the stream
}

// updateIDBase keeps the text short, since every event of a stream carries an id.
const updateIDBase = 36

// IsZero reports whether the id identifies no update.
func (id UpdateID) IsZero() bool { return id == UpdateID{} }

// Until reports whether id equals other or precedes other. Until returns false for ids of
// different streams, whose order is unknown.
func (id UpdateID) Until(other UpdateID) bool {
	return !id.IsZero() && id.Stream == other.Stream && id.Number <= other.Number
}

// String returns the form read by [ParseUpdateID].
func (id UpdateID) String() string { return string(id.Append(nil)) }

// Append appends the form of String to b.
func (id UpdateID) Append(b []byte) []byte {
	b = append(strconv.AppendUint(b, id.Stream, updateIDBase), '-')
	return strconv.AppendUint(b, id.Number, 10)
}

// ParseUpdateID parses the text of an id. ParseUpdateID accepts only texts returned by
// String, because the text may come from untrusted clients.
func ParseUpdateID(s string) (UpdateID, error) {
	feed, n, _ := strings.Cut(s, "-")
	var id UpdateID
	var feedErr, numberErr error
	id.Stream, feedErr = strconv.ParseUint(feed, updateIDBase, 64)
	id.Number, numberErr = strconv.ParseUint(n, 10, 64)
	if feedErr != nil || numberErr != nil || id.Stream == 0 || id.String() != s {
		return UpdateID{}, fmt.Errorf("%.40q is not an id of an update", s)
	}
	return id, nil
}

// A DisplayKind is the kind of a [DisplayEvent].
type DisplayKind string

// The kinds of display events. Each has Parent besides the fields named.
const (
	DisplayTextBegin  DisplayKind = "text_begin" // Message, Index: the agent begins a block of text
	DisplayTextDelta  DisplayKind = "text_delta" // Message, Index, Text: the next piece of the block
	DisplayText       DisplayKind = "text"       // ID, Message, Text: the whole block; pieces of the block come earlier or never
	DisplayThinking   DisplayKind = "thinking"   // the agent thinks
	DisplayTool       DisplayKind = "tool"       // ID, Tool; Target and Input when the call is repeated with both known
	DisplayToolEnd    DisplayKind = "tool_end"   // ID, IsError
	DisplayCompacting DisplayKind = "compacting" // the conversation is being shortened
	DisplayCompacted  DisplayKind = "compacted"  // the conversation was shortened, or shortening failed
	DisplayRetry      DisplayKind = "retry"      // Text: why an API call is repeated, and the number of the attempt
	DisplayTasks      DisplayKind = "tasks"      // Tasks
)

// A DisplayEvent is an element of an agent's line for display while a turn runs. Adapters
// receive a function that finds the events in an update's Raw: func(raw json.RawMessage)
// []DisplayEvent. The function is stateless: a replayed line yields the same events under
// the same ids.
type DisplayEvent struct {
	Kind    DisplayKind
	ID      string          // of a whole text or of a tool call: unique, and the same in each replay
	Message string          // the agent's id of the message containing the text; may be empty
	Index   int             // index of the streamed block in Message
	Parent  string          // tool call that started the speaking sub-agent; empty for the agent itself
	Text    string          // text of a sub-agent is not meant for the person
	Tool    string          // the tool's name
	Target  string          // object of the tool, for display: untrusted, at most 200 bytes
	Input   json.RawMessage // input of the call; must not be modified
	IsError bool            // the call failed or was denied
	Tasks   int             // background tasks that are alive
}
