package main

import (
	"encoding/json"
	"os"
	"slices"
)

// controlRequest is what the host asks for.
type controlRequest struct {
	Subtype      string `json:"subtype"`
	CancelQueued bool   `json:"cancel_queued"`
	MessageUUID  string `json:"message_uuid"`
	Model        string `json:"model"`
	Mode         string `json:"mode"`
}

type controlResponse struct {
	Type     string       `json:"type"`
	Response responseBody `json:"response"`
}

type responseBody struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      string `json:"error_code,omitempty"`
}

func (s *session) control(e envelope) {
	var r controlRequest
	if json.Unmarshal(e.Request, &r) != nil {
		r = controlRequest{}
	}
	var answer any
	switch r.Subtype {
	case "initialize":
		if s.noInit {
			return
		}
		answer = s.initialized()
	case "interrupt":
		s.interrupt(e.RequestID, r.CancelQueued)
		return
	case "cancel_async_message":
		answer = object{"cancelled": false}
		if s.cancel(func(m *message) bool { return m.uuid == r.MessageUUID }) != nil {
			answer = object{"cancelled": true, "message_uuid": r.MessageUUID}
		}
	case "set_model":
		s.model = r.Model
		answer = object{"model": r.Model}
	case "set_permission_mode":
		s.permissionMode = r.Mode
		s.system("status", ordered{"status", nil, "permissionMode", r.Mode})
		answer = object{"mode": r.Mode}
	case "mcp_status":
		answer = object{"mcpServers": []string{}}
	case "get_binary_version":
		answer = object{"version": version}
	case "end_session":
		s.succeed(e.RequestID, nil)
		s.leaving = true
		if s.turn != nil {
			s.turn.stop(stopInterrupt)
		}
		return
	default:
		s.emit(controlResponse{"control_response", responseBody{Subtype: "error", RequestID: e.RequestID,
			Error: "Unsupported control request subtype: " + r.Subtype, Code: "unsupported_request"}})
		return
	}
	s.succeed(e.RequestID, answer)
}

func (s *session) succeed(request string, answer any) {
	s.emit(controlResponse{"control_response", responseBody{Subtype: "success", RequestID: request, Response: answer}})
}

func (s *session) initialized() object {
	state := "idle"
	if s.turn != nil {
		state = "running"
	}
	return object{
		"commands": []object{{"name": "clear", "description": "Start a new conversation", "argumentHint": ""}},
		"agents":   []object{}, "output_style": "default", "available_output_styles": []string{"default"},
		"models":  []object{{"value": "default", "resolvedModel": s.model, "displayName": "Default"}},
		"account": object{"tokenSource": "none", "apiKeySource": "none", "apiProvider": "firstParty"}, "pid": os.Getpid(),
		"claude_code_version": version, "current_permission_mode": s.permissionMode, "session_state": state,
		"capabilities": []string{},
	}
}

// interrupt stops the turn, if there is one that listens, and says which
// messages are still to come.
func (s *session) interrupt(request string, cancelQueued bool) {
	if s.turn != nil && s.turn.deaf {
		return
	}
	answer := object{}
	if cancelQueued {
		if cancelled := s.cancel(func(*message) bool { return true }); cancelled != nil {
			answer["cancelled"] = cancelled
		}
	}
	still := []string{}
	for _, m := range s.queue {
		if m.uuid != "" {
			still = append(still, m.uuid)
		}
	}
	answer["still_queued"] = still
	if s.turn != nil {
		s.turn.withdraw()
	}
	s.succeed(request, answer)
	if s.turn != nil {
		s.turn.stop(stopInterrupt)
	}
}

// cancel takes messages out of the queue and returns their uuids.
func (s *session) cancel(which func(*message) bool) (cancelled []string) {
	s.queue = slices.DeleteFunc(s.queue, func(m *message) bool {
		if m.uuid == "" || !which(m) {
			return false
		}
		s.known[m.uuid] = false
		cancelled = append(cancelled, m.uuid)
		s.lifecycle(m.uuid, "cancelled")
		s.history.queued("dequeue", m.text)
		return true
	})
	return cancelled
}

// answered takes the host's answer to a question of the running turn. Late and
// unknown answers are ignored, but given back like every other.
func (s *session) answered(response json.RawMessage, line []byte) {
	var r struct {
		Subtype   string   `json:"subtype"`
		RequestID string   `json:"request_id"`
		Response  decision `json:"response"`
		Error     string   `json:"error"`
	}
	if json.Unmarshal(response, &r) != nil {
		return
	}
	if s.flags.replay {
		s.emit(json.RawMessage(line))
	}
	if s.turn == nil || s.turn.question == "" || s.turn.question != r.RequestID {
		return
	}
	d := r.Response
	switch {
	case r.Subtype == "error":
		d = decision{Behavior: "deny", Message: "Tool permission request failed: Error: " + r.Error}
	case d.Behavior != "allow" && d.Behavior != "deny":
		d = decision{Behavior: "deny", Message: "Tool permission request failed: the answer has no behavior"}
	}
	s.turn.question, s.turn.decision = "", &d
}
