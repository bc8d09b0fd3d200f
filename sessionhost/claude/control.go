package claude

import (
	"bareclaw/core"
	"encoding/json"
	"errors"
)

// requestCanUseTool is the subtype of a permission request.
const requestCanUseTool = "can_use_tool"

// A ControlRequest is a question from claude. It needs exactly one answer with its
// RequestID: an unanswered question blocks the turn, a second answer is harmless.
type ControlRequest struct {
	RequestID   string
	Subtype     string
	toolName    string
	input       json.RawMessage // aliases the event
	suggestions json.RawMessage // the permission rules suggested by claude, an array; nil without any
}

// IsPermission reports whether the request asks for permission to use a tool.
func (r ControlRequest) IsPermission() bool { return r.Subtype == requestCanUseTool }

// ControlRequest decodes a control_request event.
func (e Event) ControlRequest() (ControlRequest, error) {
	var r ControlRequest
	asked := false
	err := e.fields(TypeControlRequest, func(key, value []byte) {
		switch string(key) {
		case "request_id":
			r.RequestID = text(value)
		case "request":
			asked = true
			_ = eachField(value, r.member) // no object: no subtype, and so refused
		}
	})
	if err != nil {
		return r, err
	}
	if r.RequestID == "" || !asked {
		return r, errors.New("read control request: it has no id or no request")
	}
	return r, nil
}

func (r *ControlRequest) member(key, value []byte) {
	switch string(key) {
	case "subtype":
		r.Subtype = text(value)
	case "tool_name":
		r.toolName = text(value)
	case "input":
		r.input = value
	case "permission_suggestions":
		r.suggestions = value
	}
}

// PermissionRequest returns the permission request in the event, nil for any other event.
func (e Event) PermissionRequest() *core.Request {
	r, err := e.ControlRequest()
	if err != nil || !r.IsPermission() {
		return nil
	}
	return &core.Request{ID: r.RequestID, Tool: r.toolName, Input: r.input, Suggestion: r.suggestions}
}

// A ControlResponse is claude's answer to a request of ours.
type ControlResponse struct {
	RequestID string
	Response  json.RawMessage // nil if absent; aliases the event
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
		_ = eachField(value, func(key, value []byte) { // no object: no id, and so ignored
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

// CancelRequest returns the id of a control request that claude withdraws and no longer
// needs answered.
func (e Event) CancelRequest() (requestID string, err error) {
	err = e.fields(TypeCancelRequest, func(key, value []byte) {
		if string(key) == "request_id" {
			requestID = text(value)
		}
	})
	return requestID, err
}
