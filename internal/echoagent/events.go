package echoagent

import (
	"os"

	"github.com/google/uuid"
)

// An event is a line for the gateway, in the form of the claude CLI.
type event map[string]any

const lifecycleCapability = "msg_lifecycle_v1"

// turn answers one message at once, so no message waits in a queue.
func (a *agent) turn(id, text string) {
	cwd, err := os.Getwd()
	if err != nil {
		a.note(err.Error())
	}
	ids := []string{}
	if id != "" {
		ids = append(ids, id)
	}
	answer := reply(text)
	a.lifecycle(id, "queued")
	a.lifecycle(id, "started")
	a.emit(event{ // "agent" is an addition to the CLI's event
		"type": "system", "subtype": "init", "cwd": cwd, "tools": []string{}, "mcp_servers": []string{}, "model": Model,
		"permissionMode": "default", "agent": "echo", "capabilities": []string{lifecycleCapability},
	})
	a.emit(event{"type": "assistant", "parent_tool_use_id": nil, "user_message_uuids": ids, "message": event{
		"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": Model, "content": []event{{"type": "text", "text": answer}},
	}})
	a.emit(event{
		"type": "result", "subtype": "success", "is_error": false, "result": answer, "terminal_reason": "completed", "stop_reason": "end_turn",
		"num_turns": 1, "total_cost_usd": 0, "duration_ms": 0, "user_message_uuids": ids, "result_index": a.results,
	})
	a.results++
	a.lifecycle(id, "completed")
}

// lifecycle reports the state of a message that has an id.
func (a *agent) lifecycle(id, state string) {
	if id != "" {
		a.emit(event{"type": "command_lifecycle", "command_uuid": id, "state": state})
	}
}

// control answers a control request. An interrupt always comes when idle.
func (a *agent) control(id, subtype string) {
	outcome := event{"subtype": "success", "request_id": id}
	switch subtype {
	case "initialize":
		outcome["response"] = event{
			"commands": []string{}, "models": []string{}, "agents": []string{}, "agent": "echo", "pid": os.Getpid(),
			"session_state": "idle", "capabilities": []string{lifecycleCapability},
		}
	case "interrupt":
		outcome["response"] = event{"still_queued": []string{}}
	default:
		outcome = event{"subtype": "error", "request_id": id, "error_code": "unsupported_request", "error": "Unsupported control request subtype: " + subtype}
	}
	a.write(event{"type": "control_response", "response": outcome})
}
