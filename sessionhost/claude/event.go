package claude

import (
	"encoding/json"
	"fmt"
)

// The types of event this package knows. Others pass through as they are.
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

// An Event is one line that claude printed: its envelope decoded, the rest
// left as it is until somebody asks.
type Event struct {
	Type      string          // "" when the line has none
	Subtype   string          // of system and result events, else ""
	SessionID string          // of everything but control events, else ""
	Subagent  bool            // said by a subagent, not by claude itself
	Raw       json.RawMessage // the whole line, one valid JSON object; aliases the decoded line
}

// Decode reads the envelope of one line. It fails only for a line that is not
// one valid JSON object; an unknown type, a missing or oddly typed field does
// not. The event aliases line: whoever keeps it beyond the line's life clones
// Raw first.
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

// word is text for the handful of words that name events: they need no copy.
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
