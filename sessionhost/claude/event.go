package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// The known types of events. Other types pass through unchanged.
const (
	TypeAssistant       = "assistant"
	TypeUser            = "user"
	TypeResult          = "result"
	TypeSystem          = "system"
	TypeStreamEvent     = "stream_event"
	TypeLifecycle       = "command_lifecycle"
	TypeControlRequest  = "control_request"
	TypeControlResponse = "control_response"
	TypeCancelRequest   = "control_cancel_request"
	TypeRateLimit       = "rate_limit_event"
)

// An Event is one line of claude's output, decoded once. Its methods read the members that
// an event of the right type has; of any other event they return zero values.
type Event struct {
	Type    string          // "" when the line has none
	Subtype string          // of system and result events, else ""
	Raw     json.RawMessage // the whole line, one valid JSON object; aliases the decoded line

	// Raw values of members, nil if absent.
	session, uuid, parent         []byte
	message, apiMessageID, stream []byte // of assistant, user and stream events
	requestID, request, response  []byte // of control events
	turn, state                   []byte // of lifecycle events
	tasks, status, compacted      []byte // of system events
	apiError                      bool
}

// Decode reads the envelope of one line. It fails only for a line without exactly one valid
// JSON object, not for unknown types or odd fields. The event aliases line: a longer-lived
// event needs a clone of Raw.
func Decode(line []byte) (Event, error) {
	e := Event{Raw: line}
	if err := eachField(line, e.member); err != nil {
		return Event{}, fmt.Errorf("decode a line of %d bytes from claude: %w", len(line), err)
	}
	return e, nil
}

// IsPlainStreamEvent reports whether a line that Decode has accepted before is a stream event
// that begins no tool. It is cheaper than Decode, and misses events whose type comes late.
func IsPlainStreamEvent(line []byte) bool {
	return bytes.HasPrefix(line, streamEventPrefix) && !bytes.Contains(line, toolUseSuffix)
}

var (
	streamEventPrefix = []byte(`{"type":"stream_event",`)
	toolUseSuffix     = []byte(`tool_use"`)
)

func (e *Event) member(key, value []byte) {
	switch string(key) {
	case "type":
		e.Type = word(value)
	case "subtype":
		e.Subtype = word(value)
	case "session_id":
		e.session = value
	case "uuid":
		e.uuid = value
	case "parent_tool_use_id":
		e.parent = value
	case "message":
		e.message = value
	case "api_message_id":
		e.apiMessageID = value
	case "event":
		e.stream = value
	case "request_id":
		e.requestID = value
	case "request":
		e.request = value
	case "response":
		e.response = value
	case "command_uuid":
		e.turn = value
	case "state":
		e.state = value
	case "tasks":
		e.tasks = value
	case "status":
		e.status = value
	case "compact_result":
		e.compacted = value
	case "is_api_error_message":
		e.apiError = string(value) == "true"
	}
}

// usual are the names of events that need no copy.
var usual = map[string]string{
	TypeStreamEvent: TypeStreamEvent, TypeAssistant: TypeAssistant, TypeUser: TypeUser,
	TypeSystem: TypeSystem, TypeResult: TypeResult, TypeLifecycle: TypeLifecycle,
}

// word is text without a copy for the usual names.
func word(value []byte) string {
	if len(value) >= 2 && value[0] == '"' {
		if name, ok := usual[string(value[1:len(value)-1])]; ok {
			return name
		}
	}
	return text(value)
}

// SessionID returns the session that the event names, "" without one.
func (e *Event) SessionID() string { return text(e.session) }

// Subagent reports whether a subagent speaks.
func (e *Event) Subagent() bool { return len(e.parent) > 0 && e.parent[0] == '"' }

// The states of a Lifecycle.
const (
	StateQueued    = "queued"    // claude has read the message
	StateStarted   = "started"   // the turn runs, or the message was folded into the running turn
	StateCompleted = "completed" // claude has finished the message
	StateCancelled = "cancelled" // the same after an interrupt, an API error or a cancellation
)

// A Lifecycle is claude's progress with one message. It is no answer: a repeated message is
// "completed" without a run, and an API error ends as "cancelled" after its result.
type Lifecycle struct {
	UUID  string // of the message
	State string
}

// Done reports whether claude will do nothing more for the message.
func (l Lifecycle) Done() bool { return l.State == StateCompleted || l.State == StateCancelled }

// Lifecycle returns the content of a command_lifecycle event.
func (e *Event) Lifecycle() Lifecycle {
	if e.Type != TypeLifecycle {
		return Lifecycle{}
	}
	return Lifecycle{UUID: text(e.turn), State: text(e.state)}
}

// A ControlRequest is a question from claude. It needs exactly one answer with its
// RequestID: an unanswered question blocks the turn, a second answer is harmless.
type ControlRequest struct {
	RequestID   string          `json:"-"`
	Subtype     string          `json:"subtype"`
	ToolName    string          `json:"tool_name"`
	Input       json.RawMessage `json:"input"`
	Suggestions json.RawMessage `json:"permission_suggestions"` // the rules suggested by claude, an array; nil without any
}

// IsPermission reports whether the request asks for permission to use a tool.
func (r ControlRequest) IsPermission() bool { return r.Subtype == "can_use_tool" }

// ControlRequest returns the content of a control_request event, false without an id or a
// request.
func (e *Event) ControlRequest() (r ControlRequest, ok bool) {
	if e.Type != TypeControlRequest || e.request == nil {
		return r, false
	}
	decode(e.request, &r) // no object: no subtype, and so refused
	r.RequestID = text(e.requestID)
	return r, r.RequestID != ""
}

// ControlResponse returns which request of ours a control_response event answers, and
// claude's reason if claude refused.
func (e *Event) ControlResponse() (requestID, refused string) {
	if e.Type != TypeControlResponse {
		return "", ""
	}
	var r struct {
		RequestID string `json:"request_id"`
		Subtype   string `json:"subtype"`
		Error     string `json:"error"`
	}
	if decode(e.response, &r); r.Error == "" && r.Subtype == "error" {
		r.Error = "claude refused the request without a reason"
	}
	return r.RequestID, r.Error
}

// CancelRequest returns the id of a control request that claude withdraws and no longer
// needs answered.
func (e *Event) CancelRequest() (requestID string) {
	if e.Type != TypeCancelRequest {
		return ""
	}
	return text(e.requestID)
}

// BackgroundTasks returns the number of live background tasks from a
// system/background_tasks_changed event, false for any other event.
func (e *Event) BackgroundTasks() (n int, ok bool) {
	if e.Type != TypeSystem || e.Subtype != "background_tasks_changed" {
		return 0, false
	}
	var tasks []json.RawMessage
	decode(e.tasks, &tasks) // not an array: none
	return len(tasks), true
}

// BeginsTool reports whether the event announces a tool call: from here on the turn must
// not run again by itself.
//
// No later sign is early enough. claude runs a tool as soon as its block is complete, while
// the rest of the model's message still streams, and writes the call to the transcript only
// after the message. A claude killed in between leaves a transcript without the call, and
// runs the tool again when the message is resent (measured).
func (e *Event) BeginsTool() bool {
	if !bytes.Contains(e.Raw, toolUseSuffix) { // rules out most events at once
		return false
	}
	switch e.Type {
	case TypeStreamEvent:
		inner := decodeStreamed(e.stream)
		return inner.Type == "content_block_start" && isToolCall(inner.Block.Type)
	case TypeAssistant:
		return slices.ContainsFunc(decodeMessage(e.message).Content, func(b block) bool { return isToolCall(b.Type) })
	}
	return false
}

// ToolsEnded returns the ids of the tool calls whose results a user event brings; none for
// any other event.
func (e *Event) ToolsEnded() (ids []string) {
	if e.Type != TypeUser || !bytes.Contains(e.message, []byte(`tool_result"`)) { // most events are plain messages
		return nil
	}
	for _, b := range decodeMessage(e.message).Content {
		if b.Type == "tool_result" {
			ids = append(ids, b.ToolUseID)
		}
	}
	return ids
}
