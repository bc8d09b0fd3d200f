package claude

import (
	"encoding/json"
	"fmt"
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

// An Event is one line of claude's output: a decoded envelope, and the raw rest.
type Event struct {
	Type      string          // "" when the line has none
	Subtype   string          // of system and result events, else ""
	SessionID string          // of everything but control events, else ""
	Subagent  bool            // spoken by a subagent
	Raw       json.RawMessage // the whole line, one valid JSON object; aliases the decoded line
}

// Decode reads the envelope of one line. It fails only for a line without exactly one valid
// JSON object, not for unknown types or odd fields. The event aliases line: a longer-lived
// event needs a clone of Raw.
func Decode(line []byte) (Event, error) {
	var e Event
	err := eachField(line, func(key, value []byte) {
		switch string(key) {
		case "type":
			e.Type = word(value)
		case "subtype":
			e.Subtype = word(value)
		case "session_id":
			e.SessionID = text(value)
		case "parent_tool_use_id":
			e.Subagent = value[0] == '"'
		}
	})
	if err != nil {
		return Event{}, fmt.Errorf("decode a line of %d bytes from claude: %w", len(line), err)
	}
	e.Raw = line
	return e, nil
}

// word is text without a copy for the usual names of events.
func word(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	switch string(value[1 : len(value)-1]) {
	case TypeStreamEvent:
		return TypeStreamEvent
	case TypeAssistant:
		return TypeAssistant
	case TypeUser:
		return TypeUser
	case TypeSystem:
		return TypeSystem
	case TypeResult:
		return TypeResult
	case TypeLifecycle:
		return TypeLifecycle
	case TypeControlRequest:
		return TypeControlRequest
	case TypeControlResponse:
		return TypeControlResponse
	}
	return text(value)
}

// fields visits the members of the event, whose type must be want.
func (e Event) fields(want string, visit visitor) error {
	if e.Type != want {
		return fmt.Errorf("read %s event: the event is %q", want, e.Type)
	}
	if err := eachField(e.Raw, visit); err != nil {
		return fmt.Errorf("read %s event: %w", want, err)
	}
	return nil
}
