package claude

import (
	"encoding/json"
	"errors"
)

// The subtypes of ControlRequest that a host must serve; every other one is
// refused with ErrorLine, because an unanswered request blocks the turn.
const (
	RequestCanUseTool   = "can_use_tool"
	RequestMCPMessage   = "mcp_message"
	RequestHookCallback = "hook_callback"
)

// A ControlRequest is a question of claude. It needs exactly one answer with
// its RequestID; a second one is harmless.
type ControlRequest struct {
	RequestID string
	Subtype   string
	Raw       json.RawMessage // the request object; aliases the event

	// Of can_use_tool.
	ToolName                string
	DisplayName             string
	Description             string
	ToolUseID               string
	Input                   json.RawMessage
	Suggestions             json.RawMessage // permission rules claude proposes, an array; nil when none
	BlockedPath             string
	RequiresUserInteraction bool // AskUserQuestion: allow needs updatedInput with answers

	// Of mcp_message.
	ServerName string
	Message    json.RawMessage // one JSON-RPC message
}

// ControlRequest decodes a control_request event.
func (e Event) ControlRequest() (ControlRequest, error) {
	var r ControlRequest
	err := e.fields(TypeControlRequest, func(key, value []byte) {
		switch string(key) {
		case "request_id":
			r.RequestID = text(value)
		case "request":
			r.Raw = value
		}
	})
	if err != nil {
		return r, err
	}
	if r.RequestID == "" || r.Raw == nil {
		return r, errors.New("read control request: it has no id or no request")
	}
	_ = eachField(r.Raw, r.member) // no object: no subtype, which nobody serves
	return r, nil
}

func (r *ControlRequest) member(key, value []byte) {
	switch string(key) {
	case "subtype":
		r.Subtype = text(value)
	case "tool_name":
		r.ToolName = text(value)
	case "display_name":
		r.DisplayName = text(value)
	case "description":
		r.Description = text(value)
	case "tool_use_id":
		r.ToolUseID = text(value)
	case "input":
		r.Input = value
	case "permission_suggestions":
		r.Suggestions = value
	case "blocked_path":
		r.BlockedPath = text(value)
	case "requires_user_interaction":
		r.RequiresUserInteraction = boolean(value)
	case "server_name":
		r.ServerName = text(value)
	case "message":
		r.Message = value
	}
}

// A ControlResponse is claude's answer to a request of ours.
type ControlResponse struct {
	RequestID string
	Response  json.RawMessage // nil when it has none; aliases the event
	Error     string          // not "" when claude refused
}

// ControlResponse decodes a control_response event.
func (e Event) ControlResponse() (ControlResponse, error) {
	var r ControlResponse
	err := e.fields(TypeControlResponse, func(key, value []byte) {
		if string(key) != "response" {
			return
		}
		subtype := ""
		_ = eachField(value, func(key, value []byte) { // no object: no id, which nobody waits for
			switch string(key) {
			case "subtype":
				subtype = text(value)
			case "request_id":
				r.RequestID = text(value)
			case "response":
				r.Response = value
			case "error":
				r.Error = text(value)
			}
		})
		if subtype == "error" && r.Error == "" {
			r.Error = "claude refused the request without a reason"
		}
	})
	return r, err
}

// CancelRequest returns the id of the control request that claude takes back:
// its answer would be ignored.
func (e Event) CancelRequest() (requestID string, err error) {
	err = e.fields(TypeCancelRequest, func(key, value []byte) {
		if string(key) == "request_id" {
			requestID = text(value)
		}
	})
	return requestID, err
}

// ConversationReset returns the uuid of the message (/clear) that made claude
// start an empty conversation. The event still carries the old session id, and
// the id it announces is not a session's: the new one is that of the system/init and
// the result that follow.
func (e Event) ConversationReset() (userMessageUUID string, err error) {
	err = e.fields(TypeConversationReset, func(key, value []byte) {
		if string(key) == "user_message_uuid" {
			userMessageUUID = text(value)
		}
	})
	return userMessageUUID, err
}
