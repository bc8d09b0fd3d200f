package claude

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
)

// Translate returns the event for a lane.
func (e *Event) Translate() core.Event {
	t := core.Event{Type: e.Type, Raw: e.Raw}
	switch e.Type {
	case TypeLifecycle:
		l := e.Lifecycle()
		t.Kind, t.Turn, t.Phase = core.TurnState, core.TurnID(l.UUID), core.Phase(l.State)
	case TypeResult:
		r := e.Result()
		if r.Code == core.CodeNotLoggedIn { // claude's own words are for a person at its terminal
			r.Text = r.Error
		}
		t.Kind, t.Result = core.Resulted, &r
	case TypeControlRequest:
		if t.Request = e.PermissionRequest(); t.Request != nil {
			t.Kind = core.Requested
		}
	case TypeCancelRequest:
		t.Kind, t.Request = core.RequestGone, &core.Request{ID: e.CancelRequest()}
	case TypeStreamEvent:
		if e.BeginsTool() {
			t.Kind = core.ToolBegun // the call with its input follows
		}
	case TypeAssistant:
		e.translateTool(&t)
	case TypeRateLimit:
		if rejected, until := e.rateLimit(); rejected {
			t.Kind, t.Until = core.Limited, until
		}
	case TypeSystem:
		e.translateSystem(&t)
	}
	return t
}

func (e *Event) translateTool(t *core.Event) {
	if !e.BeginsTool() {
		return
	}
	for _, b := range decodeMessage(e.message).blocks {
		if b.Type == "tool_use" {
			t.Kind, t.Tool, t.Target = core.ToolBegun, b.Name, ToolTarget(b.Input)
			t.ToolID, t.Timeout = b.ID, toolTimeout(b.Name, b.Input)
		}
	}
}

func (e *Event) translateSystem(t *core.Event) {
	switch e.Subtype {
	case "api_retry":
		r := e.APIRetry()
		t.Kind, t.Status = core.Retrying, r.Status
		t.Detail = fmt.Sprintf("%s (status %d), attempt %d of %d in %s", r.Reason, r.Status, r.Attempt, r.MaxRetries, r.Delay)
	case "init":
		t.Model = e.Init().Model
	}
	if n, ok := e.BackgroundTasks(); ok {
		t.Kind, t.Tasks = core.TasksChanged, n
	}
}

// PermissionRequest returns the permission request in the event, nil for any other event.
func (e *Event) PermissionRequest() *core.Request {
	r, ok := e.ControlRequest()
	if !ok || !r.IsPermission() {
		return nil
	}
	return &core.Request{ID: r.RequestID, Tool: r.toolName, Input: r.input, Suggestion: r.suggestions}
}

// Result decodes a result event, the end of a turn. A result answers the messages whose
// uuids it names. A result with an origin (a finished background task) answers only
// messages folded into its turn. Results of slash commands, interrupts, exceeded limits,
// API errors and refused logins name their messages too.
func (e *Event) Result() core.Result {
	r := rawResult{subtype: e.Subtype}
	_ = eachField(e.Raw, r.member) // Decode has validated it
	res := core.Result{
		Background: r.originKind != "" && len(r.userMessageUUIDs) == 0, // else messages were folded into the turn
		Text:       r.text, IsError: r.isError, Interrupted: r.interrupted(),
		SessionID: e.SessionID(), TotalCost: r.totalCostUSD, Cost: r.costUSD, NumTurns: r.numTurns,
	}
	for _, id := range r.userMessageUUIDs {
		res.Turns = append(res.Turns, core.TurnID(id))
	}
	if r.isError {
		res.Code, res.Error = r.failure()
		res.Until = r.limitEnds(time.Now())
	}
	return res
}

// rateLimit reads the API's report about the limits of a subscription (documented for CLI
// 2.1, not seen): whether calls are refused, and not paid for otherwise, and until when; a
// zero time if unknown.
func (e *Event) rateLimit() (rejected bool, until time.Time) {
	status, paid := "", false
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		if string(key) != "rate_limit_info" {
			return
		}
		_ = eachField(value, func(key, value []byte) { // no object: nothing is known
			switch string(key) {
			case "status":
				status = text(value)
			case "isUsingOverage":
				paid = boolean(value)
			case "resetsAt":
				until = unixTime(integer(value))
			}
		})
	})
	return status == "rejected" && !paid, until
}

// An Init begins every turn and names the current model and version.
type Init struct {
	Model   string
	Version string // of the CLI
}

// Init decodes a system/init event.
func (e *Event) Init() (i Init) {
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		switch string(key) {
		case "model":
			i.Model = text(value)
		case "claude_code_version":
			i.Version = text(value)
		}
	})
	return i
}

// An APIRetry is a repeated API call. claude repeats even a 401 for minutes, although no
// repetition cures a wrong key.
type APIRetry struct {
	Attempt, MaxRetries int
	Delay               time.Duration
	Status              int    // HTTP status, 0 without a response
	Reason              string // authentication failed, rate limit, overloaded, server error, unknown
}

// APIRetry decodes a system/api_retry event.
func (e *Event) APIRetry() (r APIRetry) {
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		switch string(key) {
		case "attempt":
			r.Attempt = int(integer(value))
		case "max_retries":
			r.MaxRetries = int(integer(value))
		case "retry_delay_ms":
			r.Delay = time.Duration(number(value) * float64(time.Millisecond))
		case "error_status":
			r.Status = int(integer(value))
		case "error":
			r.Reason = strings.ReplaceAll(text(value), "_", " ")
		}
	})
	return r
}
