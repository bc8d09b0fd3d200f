package claude

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A Result ends a turn. It answers the messages whose uuids it names and no
// other. A result with an origin (a background task that finished) belongs to
// no message, but it answers those that were folded into its turn. Every result of a message that had a uuid names it: also those
// of slash commands, of an interrupt, of a turn over its limits, of an API
// error and of a claude that is not logged in.
type Result struct {
	Subtype          string // "success" says nothing about success: look at IsError
	IsError          bool
	Text             string   // final text; "" on the error_* subtypes
	Errors           []string // only on the error_* subtypes; may hold diagnostics that are not for people
	TerminalReason   string   // completed, api_error, aborted_streaming, max_turns, …
	StopReason       string   // of the last model message; "" when null
	APIErrorStatus   int      // HTTP status of the failed API call; 0 when there was none
	APIErrorType     string
	NumTurns         int // rounds with the model in this turn; 0 for slash commands
	SessionID        string
	UserMessageUUIDs []string
	OriginKind       string // "" when the result answers messages
	DurationMS       int64
	DurationAPIMS    int64

	// TotalCostUSD is the running total of the session, by claude's own estimate. A
	// resumed session goes on from the total that its last process saved when it
	// ended; one that was killed saved none. A session that is cleared begins at 0.
	TotalCostUSD float64
	// CostUSD is what came to it since the last result of the same process; 0 when
	// that is not said, as with a budget that was reached.
	CostUSD           float64
	PermissionDenials []PermissionDenial
}

// A PermissionDenial is a tool call of the turn that was refused.
type PermissionDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// Result decodes a result event. Its strings are copies; the inputs of its
// permission denials are too.
func (e Event) Result() (Result, error) {
	r := Result{Subtype: e.Subtype, SessionID: e.SessionID}
	err := e.fields(TypeResult, func(key, value []byte) {
		switch string(key) {
		case "is_error":
			r.IsError = boolean(value)
		case "result":
			r.Text = text(value)
		case "errors":
			r.Errors = texts(value)
		case "terminal_reason":
			r.TerminalReason = text(value)
		case "stop_reason":
			r.StopReason = text(value)
		case "api_error_status":
			r.APIErrorStatus = int(integer(value))
		case "api_error_type":
			r.APIErrorType = text(value)
		case "num_turns":
			r.NumTurns = int(integer(value))
		case "user_message_uuids":
			r.UserMessageUUIDs = texts(value)
		case "origin":
			r.OriginKind = member(value, "kind")
		case "total_cost_usd":
			r.TotalCostUSD = number(value)
		case "model_usage_since_last_result":
			r.CostUSD = costOf(value)
		case "duration_ms":
			r.DurationMS = integer(value)
		case "duration_api_ms":
			r.DurationAPIMS = integer(value)
		case "permission_denials":
			_ = json.Unmarshal(value, &r.PermissionDenials) // an odd shape is no reason to lose the answer
		}
	})
	return r, err
}

// Answers reports whether the result ends the turn of that message.
func (r Result) Answers(uuid string) bool {
	for _, u := range r.UserMessageUUIDs {
		if u == uuid {
			return true
		}
	}
	return false
}

// Interrupted reports whether the turn was stopped before its end. That is no
// error when a message of priority "now" took its place: Text then is what had
// been said so far.
func (r Result) Interrupted() bool {
	return strings.HasPrefix(r.TerminalReason, "aborted_")
}

// The codes of Failure. They are stable and meant for programs.
const (
	CodeMaxTurns       = "max_turns"
	CodeMaxBudget      = "max_budget"
	CodeInterrupted    = "interrupted"
	CodeNotLoggedIn    = "not_logged_in"
	CodeRateLimited    = "rate_limited"
	CodeOverloaded     = "overloaded"
	CodeUsageLimit     = "usage_limit"
	CodePromptTooLong  = "prompt_too_long"
	CodeBadModel       = "bad_model"
	CodeUnknownSession = "unknown_session" // --resume of a session claude does not have
	CodeAPIError       = "api_error"
	CodeAgentError     = "agent_error"
)

// LoginAdvice says what to do on the gateway's machine about CodeNotLoggedIn.
const LoginAdvice = "run `claude` once to log in; on a machine without a browser: `claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN"

// Failure says why a turn failed: a stable code and a sentence for a person.
// Both are "" when it did not. Where claude has words for people they are
// passed on; its diagnostics never are.
func (r Result) Failure() (code, sentence string) {
	if !r.IsError {
		return "", ""
	}
	code = r.failureCode()
	switch code {
	case CodeMaxTurns:
		return code, "Claude stopped: the turn reached its limit of steps (BARECLAW_MAX_TURNS). Send another message to go on from there."
	case CodeMaxBudget:
		return code, "Claude stopped: the turn reached its budget (BARECLAW_MAX_BUDGET_USD). Send another message to go on from there."
	case CodeInterrupted:
		return code, "The turn was interrupted."
	case CodeNotLoggedIn: // claude names a command of its terminal
		sentence = "Claude is not logged in. On the gateway's machine " + LoginAdvice + "."
		if s := r.Words(); s != "" {
			sentence += " Claude says: " + s
		}
		return code, sentence
	}
	if s := r.Words(); s != "" {
		return code, s
	}
	return code, "Claude ended the turn with an error and did not say which."
}

// Words returns what claude said for people of a failure; empty if it said nothing.
func (r Result) Words() string {
	for _, s := range append([]string{r.Text}, r.Errors...) {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "[") {
			return s
		}
	}
	return ""
}

func (r Result) failureCode() string {
	switch {
	case r.Subtype == "error_max_turns", r.TerminalReason == "max_turns":
		return CodeMaxTurns
	case r.Subtype == "error_max_budget_usd", r.TerminalReason == "budget_exhausted":
		return CodeMaxBudget
	case r.Interrupted():
		return CodeInterrupted
	case r.Subtype == "error_during_execution" && r.says("no conversation found with session id"):
		return CodeUnknownSession
	case r.TerminalReason == "prompt_too_long", r.TerminalReason == "blocking_limit", r.says("prompt is too long"):
		return CodePromptTooLong
	case r.says("usage limit", "hit your", "credit balance is too low", "out of extra usage", "limit reached · resets", "limit reached ∙ resets"), r.APIErrorStatus == 402:
		return CodeUsageLimit
	case r.APIErrorStatus == 404 && r.says("issue with the selected model"):
		return CodeBadModel
	case r.APIErrorStatus == 401, r.says("not logged in", "/login"):
		return CodeNotLoggedIn
	case r.APIErrorStatus == 429:
		return CodeRateLimited
	case r.APIErrorStatus == 529, r.APIErrorType == "overloaded_error":
		return CodeOverloaded
	case r.APIErrorStatus != 0, r.TerminalReason == "api_error", r.TerminalReason == "image_error":
		return CodeAPIError
	}
	return CodeAgentError
}

// says looks for lower-case phrases in the head of what claude said: an error
// is short, and an answer that quotes one deep inside is not it.
func (r Result) says(phrases ...string) bool {
	const head = 400
	for _, s := range append([]string{r.Text}, r.Errors...) {
		s = strings.ToLower(s[:min(len(s), head)])
		for _, p := range phrases {
			if strings.Contains(s, p) {
				return true
			}
		}
	}
	return false
}

// costOf adds up what an object of models and their usage says that they cost.
func costOf(models []byte) (usd float64) {
	_ = eachField(models, func(_, usage []byte) { // not an object: nothing is said
		_ = eachField(usage, func(key, value []byte) {
			if string(key) == "costUSD" {
				usd += number(value)
			}
		})
	})
	return usd
}

func boolean(value []byte) bool { return string(value) == "true" }

// integer reads a JSON number, 0 for anything else. claude writes a few of its
// counts as fractions.
func integer(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	return int64(number(value))
}

func number(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0
	}
	return f
}

// texts reads an array of strings; what is no string in it is left out.
func texts(value []byte) []string {
	var all []string
	_ = eachElement(value, func(v []byte) { // not an array: none
		if v[0] == '"' {
			all = append(all, text(v))
		}
	})
	return all
}

// member reads one string member of an object, "" when it has none.
func member(object []byte, name string) string {
	var s string
	_ = eachField(object, func(key, value []byte) { // not an object: ""
		if string(key) == name {
			s = text(value)
		}
	})
	return s
}
