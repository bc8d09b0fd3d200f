package chat

import (
	"encoding/json"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// Events of the channel.
type (
	approvalOpened api.Approval
	approvalClosed api.Approval
	shown          []core.DisplayEvent // of a line of claude's output
	leaving        struct{}            // the gateway announced its end
	nothing        struct{}            // an event without display
)

// heard decodes an event of the channel.
func heard(e client.Event) any {
	switch e.Kind {
	case api.EventQueued:
		return decoded[api.Queued](e)
	case api.EventStarted:
		return decoded[api.Started](e)
	case api.EventAgent:
		return shown(claude.Show(json.RawMessage(e.Data)))
	case api.EventApproval:
		return decoded[approvalOpened](e)
	case api.EventApprovalClosed:
		return decoded[approvalClosed](e)
	case api.EventBackground:
		return decoded[api.Background](e)
	case api.EventNotice:
		return decoded[api.Notice](e)
	case api.EventResult:
		return decoded[api.Message](e)
	case api.EventRestarting, api.EventShutdown:
		return leaving{}
	}
	return nothing{} // event of a newer gateway
}

// decoded decodes an event's data, and returns a notice if decoding fails.
func decoded[T any](e client.Event) any {
	var v T
	if err := json.Unmarshal([]byte(e.Data), &v); err != nil {
		return api.Notice{Code: "unknown", Text: "An event of the gateway could not be understood: " + term.SafeLine(e.Kind)}
	}
	return v
}
