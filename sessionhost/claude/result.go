package claude

import (
	"strings"

	"bareclaw/core"
)

// A rawResult is the content of a result event.
type rawResult struct {
	subtype          string // "success" says nothing about success: look at isError
	isError          bool
	text             string   // final text; "" on the error_* subtypes
	errors           []string // only on the error_* subtypes; may hold diagnostics not meant for people
	terminalReason   string   // completed, api_error, aborted_streaming, max_turns, …
	apiErrorStatus   int      // HTTP status of the failed API call; 0 without one
	apiErrorType     string
	numTurns         int // rounds with the model in this turn; 0 for slash commands
	userMessageUUIDs []string
	originKind       string // "" when the result answers messages
	// totalCostUSD is the running total of the session by claude's own estimate. A resumed
	// session continues from the total that its last process saved at its end; a killed
	// process saved none. A cleared session begins at 0.
	totalCostUSD float64
	// costUSD is the cost since the last result of the same process; 0 if unknown, as at an
	// exhausted budget.
	costUSD float64
}

func (r *rawResult) member(key, value []byte) {
	switch string(key) {
	case "is_error":
		r.isError = boolean(value)
	case "result":
		r.text = text(value)
	case "errors":
		r.errors = texts(value)
	case "terminal_reason":
		r.terminalReason = text(value)
	case "api_error_status":
		r.apiErrorStatus = int(integer(value))
	case "api_error_type":
		r.apiErrorType = text(value)
	case "num_turns":
		r.numTurns = int(integer(value))
	case "user_message_uuids":
		r.userMessageUUIDs = texts(value)
	case "origin":
		r.originKind = member(value, "kind")
	case "total_cost_usd":
		r.totalCostUSD = number(value)
	case "model_usage_since_last_result":
		r.costUSD = costOf(value)
	}
}

// interrupted reports whether the turn was stopped early. A message of priority "now" stops
// a turn without an error, and text is the answer so far.
func (r rawResult) interrupted() bool {
	return strings.HasPrefix(r.terminalReason, "aborted_")
}

// The codes of failures. They are stable and meant for programs.
const (
	CodeMaxTurns       = "max_turns"
	CodeRateLimited    = "rate_limited"
	CodeOverloaded     = "overloaded"
	CodePromptTooLong  = "prompt_too_long"
	CodeUnknownSession = "unknown_session" // --resume of a session claude does not have
	CodeAPIError       = "api_error"
)

// LoginAdvice is the remedy for core.CodeNotLoggedIn on the gateway's machine.
const LoginAdvice = "run `claude` once to log in; on a machine without a browser: `claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN"

// failure returns a stable code and a sentence for a person, both "" without an error.
// claude's words for people are passed on, its diagnostics never.
func (r rawResult) failure() (code, sentence string) {
	if !r.isError {
		return "", ""
	}
	code = r.failureCode()
	switch code {
	case CodeMaxTurns:
		return code, "Claude stopped: the turn reached its limit of steps (BARECLAW_MAX_TURNS). Send another message to go on from there."
	case core.CodeMaxBudget:
		return code, "Claude stopped: the turn reached its budget (BARECLAW_MAX_BUDGET_USD). Send another message to go on from there."
	case core.CodeInterrupted:
		return code, "The turn was interrupted."
	case core.CodeNotLoggedIn: // claude names a command of its terminal
		sentence = "Claude is not logged in. On the gateway's machine " + LoginAdvice + "."
		if s := r.words(); s != "" {
			sentence += " Claude says: " + s
		}
		return code, sentence
	}
	if s := r.words(); s != "" {
		return code, s
	}
	return code, "Claude ended the turn with an error and did not say which."
}

// words returns claude's words for people about a failure; empty without any.
func (r rawResult) words() string {
	for _, s := range append([]string{r.text}, r.errors...) {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "[") {
			return s
		}
	}
	return ""
}

func (r rawResult) failureCode() string {
	switch {
	case r.subtype == "error_max_turns", r.terminalReason == "max_turns":
		return CodeMaxTurns
	case r.subtype == "error_max_budget_usd", r.terminalReason == "budget_exhausted":
		return core.CodeMaxBudget
	case r.interrupted():
		return core.CodeInterrupted
	case r.subtype == "error_during_execution" && r.says("no conversation found with session id"):
		return CodeUnknownSession
	case r.terminalReason == "prompt_too_long", r.terminalReason == "blocking_limit", r.says("prompt is too long"):
		return CodePromptTooLong
	case r.says("usage limit", "hit your", "credit balance is too low", "out of extra usage", "limit reached · resets", "limit reached ∙ resets"), r.apiErrorStatus == 402:
		return core.CodeUsageLimit
	case r.apiErrorStatus == 404 && r.says("issue with the selected model"):
		return core.CodeBadModel
	case r.apiErrorStatus == 401, r.says("not logged in", "/login"):
		return core.CodeNotLoggedIn
	case r.apiErrorStatus == 429:
		return CodeRateLimited
	case r.apiErrorStatus == 529, r.apiErrorType == "overloaded_error":
		return CodeOverloaded
	case r.apiErrorStatus != 0, r.terminalReason == "api_error", r.terminalReason == "image_error":
		return CodeAPIError
	}
	return core.CodeAgentError
}

// says looks for lower-case phrases in the head of claude's words: errors are short, and an
// answer may quote one deep inside.
func (r rawResult) says(phrases ...string) bool {
	const head = 400
	for _, s := range append([]string{r.text}, r.errors...) {
		s = strings.ToLower(s[:min(len(s), head)])
		for _, p := range phrases {
			if strings.Contains(s, p) {
				return true
			}
		}
	}
	return false
}

// costOf adds up the costs in an object of models and their usage.
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
