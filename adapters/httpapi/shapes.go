package httpapi

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// The shapes of the API other than the message, as docs/openapi.yaml has them.

type approvalShape struct {
	ID         string         `json:"id"`
	Kind       string         `json:"kind"`
	Channel    string         `json:"channel"`
	MessageID  string         `json:"message_id,omitempty"`
	Prompt     *promptShape   `json:"prompt,omitempty"`
	TurnID     string         `json:"turn_id,omitempty"`
	State      string         `json:"state"`
	Tool       string         `json:"tool"`
	Input      jsontext.Value `json:"input"`
	Suggestion jsontext.Value `json:"suggestion,omitzero"`
	Always     []string       `json:"always,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	RetryID    string         `json:"retry_id,omitempty"`
	CreatedAt  string         `json:"created_at"`
	ExpiresAt  string         `json:"expires_at,omitempty"`
	DecidedAt  string         `json:"decided_at,omitempty"`
}

func showApproval(a *core.Approval) approvalShape {
	var always []string
	if a.State == core.ApprovalPending {
		always = core.AlwaysRules(*a)
	}
	return approvalShape{
		ID: a.ID, Kind: approvalKind(a), Channel: string(a.Channel), MessageID: string(a.Message), Prompt: showPrompt(&a.Prompt), TurnID: string(a.Turn),
		State: string(a.State), Tool: a.Tool, Input: jsontext.Value(a.Input), Suggestion: jsontext.Value(a.Suggestion), Always: always,
		Reason: a.Reason, RetryID: string(a.Retry), CreatedAt: stamp(a.CreatedAt), ExpiresAt: stamp(a.ExpiresAt), DecidedAt: stamp(a.DecidedAt),
	}
}

func approvalKind(a *core.Approval) string { return cmp.Or(string(a.Kind), "tool") }

func showApprovals(all []core.Approval) []approvalShape {
	shown := make([]approvalShape, len(all))
	for i := range all {
		shown[i] = showApproval(&all[i])
	}
	return shown
}

type channelShape struct {
	Channel   string `json:"channel"`
	State     string `json:"state"`
	SessionID string `json:"session_id,omitempty"`
	HostPID   int    `json:"host_pid,omitzero"`
	AgentPID  int    `json:"agent_pid,omitzero"`
	Since     string `json:"since,omitempty"`
	Why       string `json:"why,omitempty"`
	Until     string `json:"until,omitempty"`
	Waiting   int    `json:"waiting"`
	Running   int    `json:"running"`
	TurnID    string `json:"turn_id,omitempty"`
	Activity  string `json:"activity,omitempty"`
	Messages  int    `json:"messages"`
	Approvals int    `json:"approvals"`
	LastAt    string `json:"last_at,omitempty"`

	Model          string `json:"model,omitempty"`
	PermissionMode string `json:"permission_mode,omitempty"`
	Rules          int    `json:"rules,omitzero"`
}

func showChannel(c *core.ChannelStatus, own *core.Settings) channelShape {
	return channelShape{
		Channel: string(c.Key), State: c.State, SessionID: c.SessionID, HostPID: c.HostPID, AgentPID: c.AgentPID,
		Since: stamp(c.Since), Why: c.Why, Until: stamp(c.Until),
		Waiting: c.Waiting, Running: c.Running, TurnID: string(c.Turn), Activity: c.Activity,
		Messages: c.Messages, Approvals: c.Approvals, LastAt: stamp(c.LastAt),
		Model: own.Model, PermissionMode: own.PermissionMode, Rules: len(own.Rules),
	}
}

type backgroundShape struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	IsError   bool   `json:"is_error"`
	CreatedAt string `json:"created_at"`
}

func showBackground(g *core.Background) backgroundShape {
	return backgroundShape{ID: g.ID, Text: g.Text, IsError: g.IsError, CreatedAt: stamp(g.CreatedAt)}
}

// show answers 200 with a shape.
func show(w *response, shape any) error { return showAs(w, http.StatusOK, shape) }

// showAs is show with another status.
func showAs(w *response, status int, shape any) error {
	doc, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("encode the reply of %s: %w", w.route, err)
	}
	return w.json(status, append(doc, '\n'))
}
