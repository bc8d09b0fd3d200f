package api

import (
	"encoding/json"
	"time"
)

// Channels is the reply to GET /channels.
type Channels struct {
	Channels []Channel `json:"channels"`
}

// A Channel is the state of a channel.
type Channel struct {
	Channel        string    `json:"channel"`
	State          string    `json:"state"`
	SessionID      string    `json:"session_id,omitzero"`
	HostPID        int       `json:"host_pid,omitzero"`
	AgentPID       int       `json:"agent_pid,omitzero"`
	AgentVersion   string    `json:"agent_version,omitzero"`
	Since          time.Time `json:"since,omitzero"`
	Why            string    `json:"why,omitzero"`
	Until          time.Time `json:"until,omitzero"`
	Waiting        int       `json:"waiting"`
	Running        int       `json:"running"`
	TurnID         string    `json:"turn_id,omitzero"`
	Activity       string    `json:"activity,omitzero"`
	Background     []string  `json:"background_tasks,omitempty"`
	Messages       int       `json:"messages"`
	Approvals      int       `json:"approvals"`
	LastAt         time.Time `json:"last_at,omitzero"`
	Model          string    `json:"model,omitzero"`
	PermissionMode string    `json:"permission_mode,omitzero"`
	Tools          string    `json:"tools,omitzero"`
	Rules          int       `json:"rules,omitzero"`
	Usage          *Usage    `json:"usage,omitzero"` // only in the reply to GET /channels/{key}?usage=true
}

// WithUsage goes behind the path of a channel, whose Usage is then shown.
const WithUsage = "?usage=true"

// Usage is what a channel's messages have cost.
type Usage struct {
	Turns         int     `json:"turns"`
	TurnsToday    int     `json:"turns_today"`
	SpentUSD      float64 `json:"spent_usd"`
	SpentTodayUSD float64 `json:"spent_today_usd"`
}

// A ChannelChange is the body of PATCH /channels/{key}: nil changes nothing, an empty
// text takes the channel's own setting back.
type ChannelChange struct {
	Model          *string `json:"model,omitzero"`
	PermissionMode *string `json:"permission_mode,omitzero"`
	Tools          *string `json:"tools,omitzero"`
}

// ChannelReset is the reply to DELETE /channels/{key}.
type ChannelReset struct {
	Status  string `json:"status"`
	Channel string `json:"channel"`
}

// ChannelRemoved is the reply to POST /channels/{key}/remove.
type ChannelRemoved struct {
	Status    string `json:"status"`
	Channel   string `json:"channel"`
	Messages  int    `json:"messages"`  // that are gone
	Kept      int    `json:"kept"`      // that came meanwhile, or whose outcome is still to be delivered
	Schedules int    `json:"schedules"` // that are gone
}

// History is the reply to GET /channels/{key}/messages, newest first.
type History struct {
	Channel    string       `json:"channel"`
	Messages   []Message    `json:"messages"`
	Background []Background `json:"background"`
}

// Rules is the reply to GET /channels/{key}/rules.
type Rules struct {
	Channel string `json:"channel"`
	Rules   []Rule `json:"rules"`
}

// A Rule allows the agent something on a channel without asking.
type Rule struct {
	ID        string    `json:"id"`
	Rule      string    `json:"rule"`
	Tool      string    `json:"tool"`
	By        string    `json:"by,omitzero"`
	CreatedAt time.Time `json:"created_at"`
}

// Removed is the reply to the removal of a rule or a schedule.
type Removed struct {
	Status string `json:"status"`
	ID     string `json:"id"`
}

// An InterruptRequest is the body of POST /channels/{key}/interrupt. An empty TurnID
// means the turn that runs.
type InterruptRequest struct {
	TurnID string `json:"turn_id,omitzero"`
}

// An Interruption is the reply to POST /channels/{key}/interrupt.
type Interruption struct {
	TurnID   string   `json:"turn_id"`
	Messages []string `json:"messages"`
	TookMS   int64    `json:"took_ms"`
}

// Approvals is the reply to GET /approvals.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
}

// ApprovalPending is the state of an approval without a decision.
const ApprovalPending = "pending"

// An Approval is a request for a decision of a person.
type Approval struct {
	ID         string          `json:"id"`
	Kind       string          `json:"kind"`
	Channel    string          `json:"channel,omitzero"` // empty for a call from outside of sessions
	MessageID  string          `json:"message_id,omitzero"`
	Prompt     Prompt          `json:"prompt,omitzero"`
	TurnID     string          `json:"turn_id,omitzero"`
	State      string          `json:"state"`
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input"`
	Why        string          `json:"why,omitzero"`
	Suggestion json.RawMessage `json:"suggestion,omitzero"`
	Always     []string        `json:"always,omitzero"`
	Note       string          `json:"note,omitzero"` // of a decision: why "always" has written no rule
	Reason     string          `json:"reason,omitzero"`
	RetryID    string          `json:"retry_id,omitzero"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	DecidedAt  time.Time       `json:"decided_at,omitzero"`
}

// Values of Decision.Behavior. Continue and Drop are other words for Allow and Deny,
// for a turn that was cut.
const (
	Allow    = "allow"
	Deny     = "deny"
	Continue = "continue"
	Drop     = "drop"
)

// A Decision is the body of POST /approvals/{id}.
type Decision struct {
	Behavior     string            `json:"behavior"`
	Message      string            `json:"message,omitzero"`
	Remember     bool              `json:"remember,omitzero"`
	Always       bool              `json:"always,omitzero"`
	UpdatedInput json.RawMessage   `json:"updated_input,omitzero"`
	Answers      map[string]string `json:"answers,omitzero"`
}
