package claude

import (
	"encoding/json"
	"fmt"
	"time"
)

// The states of a Lifecycle.
const (
	StateQueued    = "queued"    // claude has read the message
	StateStarted   = "started"   // the turn runs, or the message was folded into the running turn
	StateCompleted = "completed" // claude has finished the message
	StateCancelled = "cancelled" // the same after an interrupt, an API error or a cancellation
)

// A Lifecycle is claude's progress with one message. It is no answer: a repeated message is
// "completed" without a run, and an API error ends as "cancelled" after its result.
type Lifecycle struct {
	UUID  string // of the message
	State string
}

// Done reports whether claude will do nothing more for the message.
func (l Lifecycle) Done() bool { return l.State == StateCompleted || l.State == StateCancelled }

// Lifecycle decodes a command_lifecycle event.
func (e Event) Lifecycle() (Lifecycle, error) {
	var l Lifecycle
	err := e.fields(TypeLifecycle, func(key, value []byte) {
		switch string(key) {
		case "command_uuid":
			l.UUID = text(value)
		case "state":
			l.State = text(value)
		}
	})
	return l, err
}

// An Init begins every turn and names the current model and version.
type Init struct {
	Model   string
	Version string // of the CLI
}

// Init decodes a system/init event.
func (e Event) Init() (i Init, err error) {
	if e.Subtype != "init" {
		return i, fmt.Errorf("read system/init event: the event is %q/%q", e.Type, e.Subtype)
	}
	err = e.fields(TypeSystem, func(key, value []byte) { // by hand: the lists of tools and commands are long
		switch string(key) {
		case "model":
			i.Model = text(value)
		case "claude_code_version":
			i.Version = text(value)
		}
	})
	return i, err
}

// An APIRetry is a repeated API call. claude repeats even a 401 for minutes, although no
// repetition cures a wrong key.
type APIRetry struct {
	Attempt, MaxRetries int
	Delay               time.Duration
	ErrorStatus         int    // HTTP status, 0 without a response
	Error               string // authentication_failed, rate_limit, overloaded, server_error, unknown
}

// APIRetry decodes a system/api_retry event.
func (e Event) APIRetry() (APIRetry, error) {
	var w struct {
		Attempt      int     `json:"attempt"`
		MaxRetries   int     `json:"max_retries"`
		RetryDelayMS float64 `json:"retry_delay_ms"`
		ErrorStatus  *int    `json:"error_status"`
		Error        string  `json:"error"`
	}
	if e.Type != TypeSystem || e.Subtype != "api_retry" {
		return APIRetry{}, fmt.Errorf("read system/api_retry event: the event is %q/%q", e.Type, e.Subtype)
	}
	if err := json.Unmarshal(e.Raw, &w); err != nil {
		return APIRetry{}, fmt.Errorf("read system/api_retry event: %w", err)
	}
	r := APIRetry{Attempt: w.Attempt, MaxRetries: w.MaxRetries, Error: w.Error,
		Delay: time.Duration(w.RetryDelayMS * float64(time.Millisecond))}
	if w.ErrorStatus != nil {
		r.ErrorStatus = *w.ErrorStatus
	}
	return r, nil
}

// BackgroundTasks returns the number of live background tasks from a
// system/background_tasks_changed event, false for any other event.
func (e Event) BackgroundTasks() (n int, ok bool) {
	if e.Type != TypeSystem || e.Subtype != "background_tasks_changed" {
		return 0, false
	}
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		if string(key) == "tasks" {
			n = 0
			_ = eachElement(value, func([]byte) { n++ })
		}
	})
	return n, true
}
