package cli

import (
	"encoding/json"
	"fmt"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// doing says in a few words what an event of a stream shows the agent at, empty if
// nothing new. The error is that of an event of the gateway's own which cannot be decoded.
func doing(e client.Event) (string, error) {
	switch e.Kind {
	case api.EventQueued:
		var q api.Queued
		if err := json.Unmarshal([]byte(e.Data), &q); err != nil {
			return "", fmt.Errorf("understand an event: %w", err)
		}
		if q.Why != "" {
			return "waits: " + q.Why, nil
		}
		return fmt.Sprintf("waits, number %d in the queue", q.Position), nil
	case api.EventStarted:
		return "at work", nil
	case api.EventApproval:
		var a api.Approval
		if err := json.Unmarshal([]byte(e.Data), &a); err != nil {
			return "", fmt.Errorf("understand an event: %w", err)
		}
		return "waits for permission: " + call(a.Tool, a.Input) + " (bareclaw approvals)", nil
	case api.EventApprovalClosed:
		return "at work", nil
	case api.EventAgent:
		return doingInside([]byte(e.Data)), nil
	}
	return "", nil
}

// An agentLine is what is looked at of a line of claude's output.
type agentLine struct {
	Type    string `json:"type"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Event struct {
		Type         string `json:"type"`
		ContentBlock struct {
			Type string `json:"type"`
		} `json:"content_block"`
	} `json:"event"`
}

func doingInside(line []byte) string {
	var l agentLine
	if json.Unmarshal(line, &l) != nil {
		return ""
	}
	switch {
	case l.Type == "assistant":
		var blocks []struct {
			Type  string          `json:"type"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		_ = json.Unmarshal(l.Message.Content, &blocks) // what is no list of blocks has no tool in it
		for _, b := range blocks {
			if b.Type == "tool_use" {
				return call(b.Name, b.Input)
			}
		}
	case l.Type == "user": // what a tool has answered
		return "at work"
	case l.Type == "stream_event" && l.Event.Type == "content_block_start":
		switch l.Event.ContentBlock.Type {
		case "text":
			return "writes"
		case "thinking":
			return "thinks"
		}
	}
	return ""
}

// call names a tool and what it is called with: the command, the file, the pattern.
func call(tool string, input json.RawMessage) string {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // what is no object has no members
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "skill", "description", "prompt"} {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + ": " + s
		}
	}
	if tool == "" {
		return "a turn that was cut, to be continued"
	}
	return tool
}
