package api

import "time"

// A ScheduleRequest is the body of POST /schedules.
type ScheduleRequest struct {
	Channel   string  `json:"channel"`
	Text      string  `json:"text"`
	When      string  `json:"when"`
	TZ        string  `json:"tz,omitzero"`
	Missed    string  `json:"missed,omitzero"`
	Precheck  string  `json:"precheck,omitzero"`
	BudgetUSD float64 `json:"budget_usd,omitzero"`
}

// Schedules is the reply to GET /schedules.
type Schedules struct {
	Zone      string     `json:"zone"` // of schedules without a tz
	Schedules []Schedule `json:"schedules"`
}

// A Schedule sends a text to a channel at its due times.
type Schedule struct {
	ID        string      `json:"id"`
	Channel   string      `json:"channel"`
	Text      string      `json:"text"`
	When      string      `json:"when"`
	TZ        string      `json:"tz,omitzero"`
	Missed    string      `json:"missed"`
	Precheck  string      `json:"precheck,omitzero"`
	BudgetUSD float64     `json:"budget_usd,omitzero"`
	State     string      `json:"state"`
	Zone      string      `json:"zone"`             // in which its times are: TZ, else the gateway's
	Adapter   string      `json:"adapter,omitzero"` // delivers the answers; empty: they are only recorded
	CreatedAt time.Time   `json:"created_at"`
	DoneAt    time.Time   `json:"done_at,omitzero"`
	Next      []time.Time `json:"next"`
	// Occurrences are only part of the reply to GET /schedules/{id}.
	Occurrences []Occurrence `json:"occurrences,omitzero"`
}

// An Occurrence is a due time that has passed.
type Occurrence struct {
	Due       time.Time `json:"due"`
	Outcome   string    `json:"outcome"`
	DecidedAt time.Time `json:"decided_at"`
	MessageID string    `json:"message_id,omitzero"`
	Late      bool      `json:"late,omitzero"`
	ByHand    bool      `json:"by_hand,omitzero"`
	Status    int       `json:"status,omitzero"`
	Why       string    `json:"why,omitzero"`
	Answer    *Answer   `json:"answer,omitzero"`
}

// Values of Schedule.State.
const (
	ScheduleActive = "active"
	SchedulePaused = "paused"
	ScheduleDone   = "done"
)

// Values of Occurrence.Outcome.
const (
	OutcomeDue     = "due"
	OutcomeSent    = "sent"
	OutcomeSkipped = "skipped"
	OutcomeMissed  = "missed"
	OutcomeRefused = "refused"
)

// An Answer is the result of the message of a built-in schedule's run.
type Answer struct {
	State      string  `json:"state"`
	Code       string  `json:"code,omitzero"`
	Text       string  `json:"text,omitzero"`
	CostUSD    float64 `json:"cost_usd,omitzero"`
	DurationMS int64   `json:"duration_ms"`
	Push       string  `json:"push,omitzero"`
	To         string  `json:"to,omitzero"`
	Problem    string  `json:"problem,omitzero"`
}

// Values of Answer.Push. An empty Push means that there is no text to push.
const (
	PushQuiet   = "quiet"
	PushPending = "pending"
	PushDone    = "pushed"
	PushFailed  = "not_pushed"
)

// A RunRequest is the body of POST /schedules/{id}/run.
type RunRequest struct {
	Due string `json:"due"` // RFC 3339
}
