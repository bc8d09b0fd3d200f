package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// One bad line on stdin ends the process (exit 1, no result), so every function here
// returns exactly one line of valid JSON with its newline.

// UserLine is a user message. The content is a JSON string or an array of
// content blocks; the uuid makes the message traceable and a resend of it
// recognisable. The same arguments always give the same bytes.
func UserLine(uuid string, content json.RawMessage) ([]byte, error) {
	if !isUUID(uuid) {
		return nil, fmt.Errorf("write user message: %q is not a UUID", uuid)
	}
	body, err := oneLine(content)
	if err != nil {
		return nil, fmt.Errorf("write user message: content: %w", err)
	}
	if body[0] != '"' && body[0] != '[' {
		return nil, errors.New("write user message: the content is neither a string nor an array of blocks")
	}
	const head, mid, tail = `{"type":"user","message":{"role":"user","content":`, `},"uuid":"`, `","parent_tool_use_id":null}` + "\n"
	line := make([]byte, 0, len(head)+len(body)+len(mid)+len(uuid)+len(tail))
	line = append(line, head...)
	line = append(line, body...)
	line = append(line, mid...)
	line = append(line, uuid...)
	return append(line, tail...), nil
}

// InitializeLine asks claude to get ready.
func InitializeLine(requestID string) []byte { return requestLine(requestID, "initialize") }

// InterruptLine stops the running turn; queued messages stay.
func InterruptLine(requestID string) []byte { return requestLine(requestID, "interrupt") }

// AllowLine answers can_use_tool with yes. updatedInput replaces the tool's input and
// updatedPermissions adds rules, unless nil. Invalid JSON makes the answer a refusal.
func AllowLine(requestID string, updatedInput, updatedPermissions json.RawMessage) []byte {
	for _, p := range []*json.RawMessage{&updatedInput, &updatedPermissions} {
		if len(*p) == 0 {
			*p = nil
			continue
		}
		var err error
		if *p, err = oneLine(*p); err != nil {
			return DenyLine(requestID, "The approval was malformed.")
		}
	}
	return responseLine(requestID, struct {
		Behavior           string          `json:"behavior"`
		UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
		UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
	}{"allow", updatedInput, updatedPermissions})
}

// DenyLine answers can_use_tool with no. The message becomes the tool's result
// and the turn goes on.
func DenyLine(requestID, message string) []byte {
	return responseLine(requestID, struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}{"deny", message})
}

// ErrorLine refuses a control request. For can_use_tool the refusal means no.
func ErrorLine(requestID, reason string) []byte {
	return marshalLine(struct {
		Type     string `json:"type"`
		Response any    `json:"response"`
	}{"control_response", struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
	}{"error", requestID, reason}})
}

func requestLine(requestID, subtype string) []byte {
	type request struct {
		Subtype string `json:"subtype"`
	}
	return marshalLine(struct {
		Type      string  `json:"type"`
		RequestID string  `json:"request_id"`
		Request   request `json:"request"`
	}{"control_request", requestID, request{subtype}})
}

func responseLine(requestID string, response any) []byte {
	return marshalLine(struct {
		Type     string `json:"type"`
		Response any    `json:"response"`
	}{"control_response", struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  any    `json:"response"`
	}{"success", requestID, response}})
}

// marshalLine encodes one of the shapes above. Encoding strings and raw JSON checked by
// oneLine cannot fail.
func marshalLine(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("claude: encode " + strconv.Quote(fmt.Sprintf("%T", v)) + ": " + err.Error())
	}
	return b.Bytes()
}

// oneLine returns the JSON value without surrounding space and newlines, as valid UTF-8.
// The usual value needs no change.
func oneLine(value json.RawMessage) (json.RawMessage, error) {
	value = bytes.Trim(value, " \t\r\n") // the white space of JSON only
	if !validJSON(value) {
		return nil, errJSON
	}
	if bytes.ContainsAny(value, "\n\r") {
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return nil, err
		}
		value = b.Bytes()
	}
	if !utf8.Valid(value) {
		value = bytes.ToValidUTF8(value, []byte("\uFFFD"))
	}
	return value, nil
}

// isUUID reports whether s is a UUID in its usual form of 36 characters.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if ('0' > c || c > '9') && ('a' > c || c > 'f') && ('A' > c || c > 'F') {
				return false
			}
		}
	}
	return true
}
