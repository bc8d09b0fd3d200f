package client

import (
	"encoding/json"
	"net/url"
	"time"
)

// What the gateway answers, as far as this program reads it: docs/openapi.yaml has
// the whole of it.

// Health is the answer of GET /health.
type Health struct {
	Status     string `json:"status"`
	Ready      bool   `json:"ready"`
	PID        int    `json:"pid"`
	Version    string `json:"version"`
	Generation uint64 `json:"generation"`
	Agent      struct {
		Kind    string `json:"kind"`
		Path    string `json:"path"`
		Problem string `json:"problem"`
	} `json:"agent"`
	Problems []string `json:"problems"`
	Spares   struct {
		Ready  int `json:"ready"`
		Wanted int `json:"wanted"`
	} `json:"spares"`
	StartedAt time.Time `json:"started_at"`
	UptimeMS  int64     `json:"uptime_ms"`
	Hosts     struct {
		Alive int `json:"alive"`
		Limit int `json:"limit"`
	} `json:"hosts"`
	Ledger *struct {
		Accepted int  `json:"accepted"`
		Failed   int  `json:"failed"`
		Waiting  int  `json:"waiting"`
		Balanced bool `json:"balanced"`
	} `json:"ledger"`
	Spending struct {
		SpentUSD float64 `json:"spent_usd"`
		LimitUSD float64 `json:"limit_usd"`
	} `json:"spending"`
	Telegram *struct {
		Ready     bool      `json:"ready"`
		Problem   string    `json:"problem"`
		Bot       string    `json:"bot"`
		LastPoll  time.Time `json:"last_poll"`
		Strangers int       `json:"strangers"`
		Pending   int       `json:"pending"`
		Failed    int       `json:"failed"`
	} `json:"telegram"`
}

// A Channel is one of GET /channels.
type Channel struct {
	Channel        string    `json:"channel"`
	State          string    `json:"state"`
	SessionID      string    `json:"session_id"`
	HostPID        int       `json:"host_pid"`
	AgentPID       int       `json:"agent_pid"`
	Since          time.Time `json:"since"`
	Why            string    `json:"why"`
	Until          time.Time `json:"until"`
	Waiting        int       `json:"waiting"`
	Running        int       `json:"running"`
	TurnID         string    `json:"turn_id"`
	Activity       string    `json:"activity"`
	Messages       int       `json:"messages"`
	Approvals      int       `json:"approvals"`
	LastAt         time.Time `json:"last_at"`
	Model          string    `json:"model"`
	PermissionMode string    `json:"permission_mode"`
	Rules          int       `json:"rules"`
}

// A Notice is something that is told once.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// A Prompt is what was asked, without media.
type Prompt struct {
	Text   string `json:"text"`
	User   string `json:"user"`
	Blocks []struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
	} `json:"blocks"`
}

// A Message is a message as it is, with its outcome if there is one.
type Message struct {
	ID         string    `json:"message_id"`
	Channel    string    `json:"channel"`
	State      string    `json:"state"`
	Prompt     Prompt    `json:"prompt"`
	Text       string    `json:"text"`
	IsError    bool      `json:"is_error"`
	DurationMS int64     `json:"duration_ms"`
	Coalesced  bool      `json:"coalesced"`
	Into       string    `json:"into"`
	CostUSD    float64   `json:"cost_usd"`
	SessionID  string    `json:"session_id"`
	Error      string    `json:"error"`
	Code       string    `json:"code"`
	Notices    []Notice  `json:"notices"`
	TurnID     string    `json:"turn_id"`
	Adapter    string    `json:"adapter"`
	RetryOf    string    `json:"retry_of"`
	Position   int       `json:"position"`
	Why        string    `json:"why"`
	Until      time.Time `json:"until"`
	ReceivedAt time.Time `json:"received_at"`
	EndedAt    time.Time `json:"ended_at"`
}

// An Approval is something that waits for a decision, or did.
type Approval struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	Channel   string          `json:"channel"`
	MessageID string          `json:"message_id"`
	Prompt    Prompt          `json:"prompt"`
	State     string          `json:"state"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Always    []string        `json:"always"`
	RetryID   string          `json:"retry_id"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`
}

// A Rule is something that the agent may do on a channel without asking.
type Rule struct {
	ID        string    `json:"id"`
	Rule      string    `json:"rule"`
	Tool      string    `json:"tool"`
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// A Trace is what happened to a message, oldest first.
type Trace struct {
	Message    Message    `json:"message"`
	Members    []string   `json:"members"`
	Approvals  []Approval `json:"approvals"`
	Deliveries []struct {
		Kind     string `json:"kind"`
		Channel  string `json:"channel"`
		State    string `json:"state"`
		Attempts int    `json:"attempts"`
		Error    string `json:"error"`
	} `json:"deliveries"`
	Timeline []struct {
		What    string `json:"what"`
		Detail  string `json:"detail"`
		AfterMS int64  `json:"after_ms"`
		TookMS  int64  `json:"took_ms"`
	} `json:"timeline"`
	Durations struct {
		QueuedMS     *int64 `json:"queued_ms"`
		FirstEventMS *int64 `json:"first_event_ms"`
		RunningMS    *int64 `json:"running_ms"`
		TotalMS      *int64 `json:"total_ms"`
	} `json:"durations"`
}

// ChannelPath returns the path of a channel in the API.
func ChannelPath(key string) string { return "/channels/" + url.PathEscape(key) }

// MessagePath returns the path of a message in the API.
func MessagePath(id string) string { return "/messages/" + url.PathEscape(id) }
