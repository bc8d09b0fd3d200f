package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// One bad line on stdin ends the process (exit 1, no result), so every function here
// returns exactly one line of valid JSON with its newline.

// UserLine is a user message. The content is a JSON string or an array of
// content blocks; the id, a UUID, makes the message traceable and a resend of it
// recognisable. The same arguments always give the same bytes.
func UserLine(id string, content json.RawMessage) ([]byte, error) {
	if !isUUID(id) {
		return nil, fmt.Errorf("write user message: %q is not a UUID", id)
	}
	body, err := oneLine(content)
	if err != nil {
		return nil, fmt.Errorf("write user message: content: %w", err)
	}
	if body[0] != '"' && body[0] != '[' {
		return nil, errors.New("write user message: the content is neither a string nor an array of blocks")
	}
	const head, mid, tail = `{"type":"user","message":{"role":"user","content":`, `},"uuid":"`, `","parent_tool_use_id":null}` + "\n"
	line := make([]byte, 0, len(head)+len(body)+len(mid)+len(id)+len(tail))
	line = append(line, head...)
	line = append(line, body...)
	line = append(line, mid...)
	line = append(line, id...)
	return append(line, tail...), nil
}

// InitializeLine asks claude to get ready. With tools, claude asks this end of the pipe for
// the tools of [ToolServer].
func InitializeLine(requestID string, tools bool) []byte {
	if tools {
		return requestLine(requestID, "initialize", `,"sdkMcpServers":[`+quote(ToolServer)+`]`)
	}
	return requestLine(requestID, "initialize", "")
}

// InterruptLine stops the running turn; queued messages stay.
func InterruptLine(requestID string) []byte { return requestLine(requestID, "interrupt", "") }

// AllowLine answers can_use_tool with yes. updatedInput replaces the tool's input and
// updatedPermissions adds rules, unless nil. Invalid JSON makes the answer a refusal.
func AllowLine(requestID string, updatedInput, updatedPermissions json.RawMessage) []byte {
	answer := `{"behavior":"allow"`
	for i, part := range []json.RawMessage{updatedInput, updatedPermissions} {
		if len(part) == 0 {
			continue
		}
		value, err := oneLine(part)
		if err != nil {
			return DenyLine(requestID, "The approval was malformed.")
		}
		answer += [...]string{`,"updatedInput":`, `,"updatedPermissions":`}[i] + string(value)
	}
	return success(requestID, answer+"}")
}

// DenyLine answers can_use_tool with no. The message becomes the tool's result
// and the turn goes on.
func DenyLine(requestID, message string) []byte {
	return success(requestID, `{"behavior":"deny","message":`+quote(message)+`}`)
}

// ErrorLine refuses a control request. For can_use_tool the refusal means no.
func ErrorLine(requestID, reason string) []byte {
	return responseLine(`"error","request_id":` + quote(requestID) + `,"error":` + quote(reason))
}

func success(requestID, response string) []byte {
	return responseLine(`"success","request_id":` + quote(requestID) + `,"response":` + response)
}

// responseLine answers a control request; rest are the members of the answer from its subtype on.
func responseLine(rest string) []byte {
	return []byte(`{"type":"control_response","response":{"subtype":` + rest + "}}\n")
}

// requestLine is a control request; rest are the members after its subtype.
func requestLine(requestID, subtype, rest string) []byte {
	return []byte(`{"type":"control_request","request_id":` + quote(requestID) + `,"request":{"subtype":` + quote(subtype) + rest + "}}\n")
}

// quote returns a JSON string, as valid UTF-8.
func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // the error reports what was replaced
	return string(b)
}

// oneLine returns the JSON value without surrounding space and newlines, as valid UTF-8.
// The usual value needs no change.
func oneLine(value json.RawMessage) (json.RawMessage, error) {
	value = bytes.Trim(value, " \t\r\n") // the white space of JSON only
	if !jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
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

func isUUID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }
