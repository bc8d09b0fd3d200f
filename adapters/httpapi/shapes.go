package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// The shapes of the API other than the message, as docs/openapi.yaml has them.

type approvalShape struct {
	ID         string         `json:"id"`
	Channel    string         `json:"channel"`
	MessageID  string         `json:"message_id,omitempty"`
	TurnID     string         `json:"turn_id,omitempty"`
	State      string         `json:"state"`
	Tool       string         `json:"tool"`
	Input      jsontext.Value `json:"input"`
	Suggestion jsontext.Value `json:"suggestion,omitzero"`
	Reason     string         `json:"reason,omitempty"`
	CreatedAt  string         `json:"created_at"`
	ExpiresAt  string         `json:"expires_at,omitempty"`
	DecidedAt  string         `json:"decided_at,omitempty"`
}

func showApproval(a *core.Approval) approvalShape {
	return approvalShape{
		ID: a.ID, Channel: string(a.Channel), MessageID: string(a.Message), TurnID: string(a.Turn),
		State: string(a.State), Tool: a.Tool, Input: jsontext.Value(a.Input), Suggestion: jsontext.Value(a.Suggestion),
		Reason: a.Reason, CreatedAt: stamp(a.CreatedAt), ExpiresAt: stamp(a.ExpiresAt), DecidedAt: stamp(a.DecidedAt),
	}
}

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
}

func showChannel(c *core.ChannelStatus) channelShape {
	return channelShape{
		Channel: string(c.Key), State: c.State, SessionID: c.SessionID, HostPID: c.HostPID, AgentPID: c.AgentPID,
		Since: stamp(c.Since), Why: c.Why, Until: stamp(c.Until),
		Waiting: c.Waiting, Running: c.Running, TurnID: string(c.Turn), Activity: c.Activity,
		Messages: c.Messages, Approvals: c.Approvals, LastAt: stamp(c.LastAt),
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

type traceShape struct {
	Message   jsontext.Value   `json:"message"`
	Members   []core.MessageID `json:"members"`
	Approvals []approvalShape  `json:"approvals"`
	Timeline  []markShape      `json:"timeline"`
}

type markShape struct {
	What    string `json:"what"`
	Detail  string `json:"detail,omitempty"`
	At      string `json:"at"`
	AfterMS int64  `json:"after_ms"`
}

type healthShape struct {
	Status     string     `json:"status"`
	Ready      bool       `json:"ready"`
	PID        int        `json:"pid"`
	Version    string     `json:"version"`
	Generation uint64     `json:"generation"`
	Agent      agentShape `json:"agent"`
	Problems   []string   `json:"problems"`
	Spares     Spares     `json:"spares"`
	StartedAt  string     `json:"started_at"`
	UptimeMS   int64      `json:"uptime_ms"`
}

type agentShape struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func showHealth(h Health, draining bool) healthShape {
	status := "ok"
	switch {
	case draining:
		status = "draining"
	case !h.Ready:
		status = "starting"
	case h.Agent.Problem != "" || len(h.Problems) > 0:
		status = "degraded"
	}
	return healthShape{
		Status: status, Ready: h.Ready && !draining, PID: h.PID, Version: h.Version, Generation: h.Generation,
		Agent: agentShape(h.Agent), Problems: h.Problems, Spares: h.Spares,
		StartedAt: stamp(h.StartedAt), UptimeMS: max(0, time.Since(h.StartedAt).Milliseconds()),
	}
}

// show answers 200 with a shape.
func show(w *response, shape any) error {
	doc, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("encode the reply of %s: %w", w.route, err)
	}
	return w.json(http.StatusOK, append(doc, '\n'))
}
