package chat

import (
	"encoding/json"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// What the gateway sends, as far as it is shown; see docs/openapi.yaml.
type (
	message struct {
		ID         string  `json:"message_id"`
		Turn       string  `json:"turn_id"`
		State      string  `json:"state"`
		Text       string  `json:"text"`
		IsError    bool    `json:"is_error"`
		Code       string  `json:"code"`
		Coalesced  bool    `json:"coalesced"`
		DurationMS int64   `json:"duration_ms"`
		CostUSD    float64 `json:"cost_usd"`
		Position   int     `json:"position"`
		Why        string  `json:"why"`
	}
	approval struct {
		ID      string          `json:"id"`
		Kind    string          `json:"kind"`
		Channel string          `json:"channel"`
		State   string          `json:"state"`
		Tool    string          `json:"tool"`
		Input   json.RawMessage `json:"input"`
		Always  []string        `json:"always"`
	}
	started struct {
		Turn     string   `json:"turn_id"`
		Messages []string `json:"messages"`
	}
	queued struct {
		ID       string `json:"message_id"`
		Position int    `json:"position"`
		Why      string `json:"why"`
	}
	notice     struct{ Code, Text string }
	background struct {
		Text    string `json:"text"`
		IsError bool   `json:"is_error"`
	}
)

// What is heard on the channel.
type (
	accepted       message
	outcome        message
	approvalOpened approval
	approvalClosed approval
	shown          []claude.Shown // what a line of claude's shows
	leaving        struct{}       // the gateway goes, and says so
	nothing        struct{}       // that anybody would see
)

// over reports whether it has its outcome.
func (m message) over() bool {
	return m.State == "answered" || m.State == "failed" || m.State == "cancelled"
}

// heard decodes an event of the channel.
func heard(e client.Event) any {
	switch e.Kind {
	case "accepted":
		return decoded[accepted](e)
	case "queued":
		return decoded[queued](e)
	case "started":
		return decoded[started](e)
	case "event":
		return shown(claude.Show(json.RawMessage(e.Data)))
	case "approval":
		return decoded[approvalOpened](e)
	case "approval_closed":
		return decoded[approvalClosed](e)
	case "background":
		return decoded[background](e)
	case "notice":
		return decoded[notice](e)
	case "result":
		return decoded[outcome](e)
	case "restarting", "shutdown":
		return leaving{}
	}
	return nothing{} // of a newer gateway
}

// decoded decodes an event's data. What cannot be understood is told.
func decoded[T any](e client.Event) any {
	var v T
	if err := json.Unmarshal([]byte(e.Data), &v); err != nil {
		return notice{Code: "unknown", Text: "An event of the gateway could not be understood: " + term.SafeLine(e.Kind)}
	}
	return v
}
