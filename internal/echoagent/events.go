package echoagent

import (
	"os"

	"github.com/google/uuid"
)

type lifecycle struct {
	Type    string `json:"type"`
	Command string `json:"command_uuid"`
	State   string `json:"state"`
	UUID    string `json:"uuid"`
	Session string `json:"session_id"`
}

type initEvent struct {
	Type           string   `json:"type"`
	Subtype        string   `json:"subtype"`
	CWD            string   `json:"cwd"`
	Session        string   `json:"session_id"`
	Tools          []string `json:"tools"`
	MCPServers     []string `json:"mcp_servers"`
	Model          string   `json:"model"`
	PermissionMode string   `json:"permissionMode"`
	Agent          string   `json:"agent"` // an addition to the CLI's event: names the echo agent
	Capabilities   []string `json:"capabilities"`
	UUID           string   `json:"uuid"`
}

type assistantEvent struct {
	Type         string     `json:"type"`
	Message      apiMessage `json:"message"`
	Parent       *string    `json:"parent_tool_use_id"`
	Session      string     `json:"session_id"`
	UUID         string     `json:"uuid"`
	MessageUUIDs []string   `json:"user_message_uuids,omitempty"`
}

type apiMessage struct {
	ID      string      `json:"id"`
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Model   string      `json:"model"`
	Content []textBlock `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type resultEvent struct {
	Type         string   `json:"type"`
	Subtype      string   `json:"subtype"`
	IsError      bool     `json:"is_error"`
	Result       string   `json:"result"`
	Reason       string   `json:"terminal_reason"`
	StopReason   string   `json:"stop_reason"`
	Turns        int      `json:"num_turns"`
	Session      string   `json:"session_id"`
	UUID         string   `json:"uuid"`
	Cost         float64  `json:"total_cost_usd"`
	Duration     int64    `json:"duration_ms"`
	MessageUUIDs []string `json:"user_message_uuids,omitempty"`
	Index        int      `json:"result_index"`
}

type controlResponse struct {
	Type     string         `json:"type"`
	Response controlOutcome `json:"response"`
}

type controlOutcome struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      string `json:"error_code,omitempty"`
}

type initialized struct {
	Commands     []string `json:"commands"`
	Models       []string `json:"models"`
	Agents       []string `json:"agents"`
	Agent        string   `json:"agent"`
	PID          int      `json:"pid"`
	State        string   `json:"session_state"`
	Capabilities []string `json:"capabilities"`
}

type interrupted struct {
	StillQueued []string `json:"still_queued"`
}

const lifecycleCapability = "msg_lifecycle_v1"

// turn answers one message at once, so no message waits in a queue.
func (a *agent) turn(id, text string) {
	cwd, err := os.Getwd()
	if err != nil {
		a.note(err.Error())
	}
	var ids []string
	if id != "" {
		ids = []string{id}
	}
	answer := reply(text)
	a.lifecycle(id, "queued")
	a.lifecycle(id, "started")
	a.emit(initEvent{Type: "system", Subtype: "init", CWD: cwd, Session: a.session, Tools: []string{}, MCPServers: []string{}, Model: Model,
		PermissionMode: "default", Agent: "echo", Capabilities: []string{lifecycleCapability}, UUID: uuid.NewString()})
	a.emit(assistantEvent{Type: "assistant", Session: a.session, UUID: uuid.NewString(), MessageUUIDs: ids,
		Message: apiMessage{ID: "msg_" + uuid.NewString(), Type: "message", Role: "assistant", Model: Model, Content: []textBlock{{"text", answer}}}})
	a.emit(resultEvent{Type: "result", Subtype: "success", Result: answer, Reason: "completed", StopReason: "end_turn", Turns: 1,
		Session: a.session, UUID: uuid.NewString(), MessageUUIDs: ids, Index: a.results})
	a.results++
	a.lifecycle(id, "completed")
}

func (a *agent) lifecycle(id, state string) {
	if id != "" {
		a.emit(lifecycle{"command_lifecycle", id, state, uuid.NewString(), a.session})
	}
}

// control answers a control request. An interrupt always comes when idle.
func (a *agent) control(id, subtype string) {
	outcome := controlOutcome{Subtype: "success", RequestID: id}
	switch subtype {
	case "initialize":
		outcome.Response = initialized{Commands: []string{}, Models: []string{}, Agents: []string{}, Agent: "echo", PID: os.Getpid(),
			State: "idle", Capabilities: []string{lifecycleCapability}}
	case "interrupt":
		outcome.Response = interrupted{StillQueued: []string{}}
	default:
		outcome = controlOutcome{Subtype: "error", RequestID: id, Code: "unsupported_request",
			Error: "Unsupported control request subtype: " + subtype}
	}
	a.emit(controlResponse{"control_response", outcome})
}
