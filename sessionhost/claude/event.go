package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"bareclaw/core"
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
	TypeReset           = "conversation_reset" // /clear
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
	turn, state, wakeup           []byte // of lifecycle events
	answers                       []byte // ids of the messages that an event belongs to
	tasks, status, compacted      []byte // of system events
	model, version                []byte // of system/init events
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
	case "wakeup_source":
		e.wakeup = value
	case "user_message_uuids":
		e.answers = value
	case "tasks":
		e.tasks = value
	case "status":
		e.status = value
	case "model":
		e.model = value
	case "claude_code_version":
		e.version = value
	case "compact_result":
		e.compacted = value
	case "is_api_error_message":
		e.apiError = string(value) == "true"
	}
}

// usual are the names of events that need no copy.
var usual = map[string]string{
	TypeStreamEvent: TypeStreamEvent,
	TypeAssistant:   TypeAssistant,
	TypeUser:        TypeUser,
	TypeSystem:      TypeSystem,
	TypeResult:      TypeResult,
	TypeLifecycle:   TypeLifecycle,
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

// Lifecycle returns the message and the phase of a command_lifecycle event. The phase does not
// show an answer: a repeated message is "completed" without a run, and after the result of an
// API error the message is "cancelled". A message folded into the running turn is "started".
func (e *Event) Lifecycle() (message string, phase core.Phase) {
	if e.Type != TypeLifecycle {
		return "", ""
	}
	return text(e.turn), core.Phase(text(e.state))
}

// BeginsOwnTurn reports whether claude begins a turn that no message asked for, and what woke
// claude, for a person; empty if unknown. Each turn begins with a system/init event, which names
// the messages of the turn. Before that, claude's own schedules announce themselves. The caller
// must know of no open turn: versions before 2.1.329 name no messages.
func (e *Event) BeginsOwnTurn() (wokenBy string, ok bool) {
	switch {
	case e.Type == TypeLifecycle && e.wakeup != nil:
		_, phase := e.Lifecycle()
		return wakeups[text(e.wakeup)], phase == core.PhaseStarted
	case e.Type == TypeSystem && e.Subtype == "init":
		return "", e.answers == nil
	}
	return "", false
}

// wakeups are the sources of turns that claude begins by itself, in words for a person.
var wakeups = map[string]string{
	"schedule_wakeup":   "a schedule of Claude's own (CronCreate)",
	"loop_wakeup":       "a reminder of Claude's own (ScheduleWakeup)",
	"task-notification": "a background task",
	"peer":              "another session",
}

// The subtype of a control request that asks for permission to use a tool.
const asksPermission = "can_use_tool"

// ControlRequest returns a question from claude and its subtype, false without an id or a
// question. The question needs exactly one answer with its id: an unanswered question blocks
// the turn, a second answer is harmless.
func (e *Event) ControlRequest() (r core.Request, subtype string, ok bool) {
	if e.Type != TypeControlRequest || e.request == nil {
		return r, "", false
	}
	var in struct {
		Subtype     string          `json:"subtype"`
		ToolName    string          `json:"tool_name"`
		Input       json.RawMessage `json:"input"`
		Suggestions json.RawMessage `json:"permission_suggestions"` // rules, an array
	}
	decode(e.request, &in) // no object: no subtype, and so refused
	r = core.Request{ID: text(e.requestID), Tool: in.ToolName, Input: in.Input, Suggestion: in.Suggestions}
	return r, in.Subtype, r.ID != ""
}

// PermissionRequest returns the permission request in the event, nil for any other event.
func (e *Event) PermissionRequest() *core.Request {
	r, subtype, ok := e.ControlRequest()
	if !ok || subtype != asksPermission {
		return nil
	}
	return &r
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

// BackgroundTasks returns the descriptions of the live background tasks from a
// system/background_tasks_changed event, false for any other event. A task may have no
// description.
func (e *Event) BackgroundTasks() (tasks []string, ok bool) {
	if e.Type != TypeSystem || e.Subtype != "background_tasks_changed" {
		return nil, false
	}
	for _, raw := range decoded[[]json.RawMessage](e.tasks) { // not an array: none
		t := decoded[struct {
			Description string `json:"description"`
		}](raw)
		description, _ := core.TruncateText(t.Description, targetBytes)
		tasks = append(tasks, description)
	}
	return tasks, true
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
		inner := decoded[struct {
			Type  string `json:"type"`
			Block struct {
				Type string `json:"type"`
			} `json:"content_block"`
		}](e.stream)
		return inner.Type == "content_block_start" && isToolCall(inner.Block.Type)
	case TypeAssistant:
		return slices.ContainsFunc(decoded[message](e.message).Content, func(b block) bool { return isToolCall(b.Type) })
	}
	return false
}

// ToolsEnded returns the ids of the tool calls whose results a user event brings; none for
// any other event.
func (e *Event) ToolsEnded() (ids []string) {
	if e.Type != TypeUser || !bytes.Contains(e.message, []byte(`tool_result"`)) { // most events are plain messages
		return nil
	}
	for _, b := range decoded[message](e.message).Content {
		if b.Type == "tool_result" {
			ids = append(ids, b.ToolUseID)
		}
	}
	return ids
}
