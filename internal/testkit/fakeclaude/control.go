package main

import (
	"encoding/json"
	"os"
)

// respond answers a control request: with success, or with an error and its code.
func respond(request, subtype string, more ...any) ordered {
	return ordered{"type", "control_response", "response", append(ordered{"subtype", subtype, "request_id", request}, more...)}
}

func (s *session) control(e envelope) {
	var r struct {
		Subtype string          `json:"subtype"`
		Servers []string        `json:"sdkMcpServers"`
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(e.Request, &r) // no object: no subtype
	switch {
	case r.Subtype == "initialize" && s.noInit:
	case r.Subtype == "initialize":
		s.mcp.connect(r.Servers, func() {
			s.emit(respond(e.RequestID, "success", "response",
				object{"pid": os.Getpid(), "claude_code_version": version, "current_permission_mode": s.permissionMode}))
		})
	case r.Subtype == "mcp_message":
		s.emit(respond(e.RequestID, "success"))
		s.mcp.told(r.Message)
	case r.Subtype == "interrupt":
		s.interrupt(e.RequestID)
	default:
		s.emit(respond(e.RequestID, "error", "error", "Unsupported control request subtype: "+r.Subtype, "error_code", "unsupported_request"))
	}
}

// interrupt stops the turn, if there is one that listens, and says which
// messages are still to come.
func (s *session) interrupt(request string) {
	if s.turn != nil && s.turn.deaf {
		return
	}
	still := []string{}
	for _, m := range s.queue {
		still = append(still, m.uuid)
	}
	if s.turn != nil {
		s.turn.withdraw()
		s.turn.cancelCall()
		s.turn.stopped = true
	}
	s.emit(respond(request, "success", "response", object{"still_queued": still}))
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
	if json.Unmarshal(response, &r) != nil || s.mcp.answered(r.RequestID, response) {
		return
	}
	s.emit(json.RawMessage(line))
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
