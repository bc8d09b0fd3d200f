package claude

import (
	"encoding/json"
	"fmt"
	"time"
)

// The states of a Lifecycle.
const (
	StateQueued    = "queued"    // claude has read the message
	StateStarted   = "started"   // its turn runs, or it was folded into the running one
	StateCompleted = "completed" // claude is done with it
	StateCancelled = "cancelled" // the same after an interrupt, an API error or a cancellation
)

// A Lifecycle tells how far claude is with one message. It releases the lane
// but is no answer: a message that claude has seen before is "completed"
// without running, and an API error ends as "cancelled" after its Result.
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

// An Init opens every turn and says what is current then.
type Init struct {
	Model   string `json:"model"`
	Version string `json:"claude_code_version"`
}

// Init decodes a system/init event.
func (e Event) Init() (Init, error) {
	var i Init
	return i, e.unmarshal("init", &i)
}

// An APIRetry is claude trying an API call again after a wait. It retries a
// 401 too, for minutes, although no retry cures a wrong key.
type APIRetry struct {
	Attempt, MaxRetries int
	Delay               time.Duration
	ErrorStatus         int    // HTTP status, 0 when there was no response
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
	if err := e.unmarshal("api_retry", &w); err != nil {
		return APIRetry{}, err
	}
	r := APIRetry{Attempt: w.Attempt, MaxRetries: w.MaxRetries, Error: w.Error,
		Delay: time.Duration(w.RetryDelayMS * float64(time.Millisecond))}
	if w.ErrorStatus != nil {
		r.ErrorStatus = *w.ErrorStatus
	}
	return r, nil
}

// unmarshal decodes a system event of that subtype.
func (e Event) unmarshal(subtype string, into any) error {
	if e.Type != TypeSystem || e.Subtype != subtype {
		return fmt.Errorf("read system/%s event: the event is %q/%q", subtype, e.Type, e.Subtype)
	}
	if err := json.Unmarshal(e.Raw, into); err != nil {
		return fmt.Errorf("read system/%s event: %w", subtype, err)
	}
	return nil
}

// BackgroundTasks returns how many background tasks are alive according to a
// system/background_tasks_changed event, and false for any other event.
// A claude with such tasks is not idle although no turn runs.
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
