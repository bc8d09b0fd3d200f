package claude

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/core"
)

// A rawResult is the content of a result event.
type rawResult struct {
	Subtype          string   `json:"-"` // "success" says nothing about success: look at IsError
	IsError          bool     `json:"is_error"`
	Text             string   `json:"result"`           // final text; "" on the error_* subtypes
	Errors           []string `json:"errors"`           // only on the error_* subtypes; may hold diagnostics not meant for people
	TerminalReason   string   `json:"terminal_reason"`  // completed, api_error, aborted_streaming, max_turns, …
	APIErrorStatus   count    `json:"api_error_status"` // HTTP status of the failed API call; 0 without one
	APIErrorType     string   `json:"api_error_type"`
	NumTurns         count    `json:"num_turns"` // rounds with the model in this turn; 0 for slash commands
	UserMessageUUIDs []string `json:"user_message_uuids"`
	Origin           struct {
		Kind string `json:"kind"` // "" when the result answers messages
	} `json:"origin"`
	// TotalCostUSD is the running total of the session by claude's own estimate. A resumed
	// session continues from the total that its last process saved at its end; a killed
	// process saved none. A cleared session begins at 0.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage has the costs since the last result of the same process by model; none if
	// unknown, as at an exhausted budget.
	Usage map[string]struct {
		CostUSD float64 `json:"costUSD"`
	} `json:"model_usage_since_last_result"`
}

// interrupted reports whether the turn was stopped early. A message of priority "now" stops
// a turn without an error, and text is the answer so far.
func (r rawResult) interrupted() bool {
	return strings.HasPrefix(r.TerminalReason, "aborted_")
}

// The codes of failures. They are stable and meant for programs.
const (
	CodeMaxTurns       = "max_turns"
	CodeRateLimited    = "rate_limited"
	CodeOverloaded     = "overloaded"
	CodeCompactFailed  = "compact_failed"  // /compact could not shorten the conversation
	CodeUnknownSession = "unknown_session" // --resume of a session claude does not have
	CodeAPIError       = "api_error"
)

// LoginVariable is the variable from which claude takes a login that `claude setup-token` has made.
const LoginVariable = "CLAUDE_CODE_OAUTH_TOKEN"

// LoginAdvice returns the remedy for core.CodeNotLoggedIn on the gateway's machine, as part of a
// sentence; file is the gateway's file of settings.
func LoginAdvice(file string) string {
	return "run `claude` once and log in; without a browser run `claude setup-token` on any machine, put the line `" + LoginVariable + "=…` into `" +
		file + "` (`bareclaw init` asks for it), then `bareclaw restart`"
}

// failure returns a stable code and a sentence for a person, both "" without an error.
// claude's words for people are passed on, its diagnostics never.
func (r rawResult) failure() (code, sentence string) {
	if !r.IsError {
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
	}
	if s := r.words(); s != "" {
		return code, s
	}
	return code, "Claude ended the turn with an error and did not say which."
}

func (r rawResult) words() string {
	for _, s := range append([]string{r.Text}, r.Errors...) {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "[") {
			return s
		}
	}
	return ""
}

// compactions are the beginnings of claude's words when /compact fails. claude reports them as an
// answer, in a turn without the model.
var compactions = []string{"Error during compaction: ", "Compaction failed · "}

func (r rawResult) compactionFailed() bool {
	return r.NumTurns == 0 && slices.ContainsFunc(compactions, func(begin string) bool { return strings.HasPrefix(r.Text, begin) })
}

// requestTooLarge is the kind of refusals for the size of the conversation in bytes.
const requestTooLarge = "request_too_large"

// refused returns the kind of a refusal that meets every further message of the conversation
// too: the HTTP status and claude's words without digits and the ids of requests. It returns ""
// for any other result.
func (r rawResult) refused() string {
	if !r.IsError {
		return ""
	}
	words := r.words()
	for _, begin := range compactions {
		words = strings.TrimPrefix(words, begin)
	}
	switch code := r.failureCode(); {
	case code == core.CodePromptTooLong,
		code == CodeCompactFailed && r.says("prompt is too long", "conversation too long", "below the context limit"):
		return core.CodePromptTooLong
	case code == CodeAPIError && r.apiStatus() == 413, code == CodeCompactFailed && r.says("exceeds size limits"):
		return requestTooLarge
	case code != CodeAPIError && code != CodeCompactFailed, !refusesContent(r.apiStatus()):
		return ""
	}
	return strconv.Itoa(r.apiStatus()) + " " + strings.TrimSpace(variable().ReplaceAllString(words, ""))
}

// variable matches what differs between two refusals of the same kind.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`req_\w+|\d+`) })

// refusesContent reports whether the API, with an HTTP status, refuses what the conversation
// holds, and not the account, the model or the moment.
func refusesContent(status int) bool {
	switch status {
	case 400, 413, 422:
		return true
	}
	return false
}

// statusNamed finds the HTTP status in claude's words.
var statusNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`API Error: (\d{3})\b`) })

// apiStatus returns the HTTP status of the failed API call, 0 without one. A failed /compact has
// it in its words only.
func (r rawResult) apiStatus() int {
	if r.APIErrorStatus != 0 {
		return int(r.APIErrorStatus)
	}
	n := 0
	if m := statusNamed().FindStringSubmatch(r.words()); m != nil {
		n, _ = strconv.Atoi(m[1]) // three digits
	}
	return n
}

func (r rawResult) failureCode() string {
	switch {
	case r.Subtype == "error_max_turns", r.TerminalReason == "max_turns":
		return CodeMaxTurns
	case r.Subtype == "error_max_budget_usd", r.TerminalReason == "budget_exhausted":
		return core.CodeMaxBudget
	case r.interrupted():
		return core.CodeInterrupted
	case r.Subtype == "error_during_execution" && r.says("no conversation found with session id"):
		return CodeUnknownSession
	case r.compactionFailed():
		return CodeCompactFailed
	case r.TerminalReason == "prompt_too_long", r.TerminalReason == "blocking_limit", r.says("prompt is too long"):
		return core.CodePromptTooLong
	case r.says("usage limit", "hit your", "credit balance is too low", "out of extra usage", "limit reached · resets", "limit reached ∙ resets"), r.APIErrorStatus == 402:
		return core.CodeUsageLimit
	case r.APIErrorStatus == 404 && r.says("issue with the selected model"):
		return core.CodeBadModel
	case r.APIErrorStatus == 401, r.APIErrorStatus == 403 && r.says("failed to authenticate"), r.says("not logged in", "/login"):
		return core.CodeNotLoggedIn
	case r.APIErrorStatus == 429:
		return CodeRateLimited
	case r.APIErrorStatus == 529, r.APIErrorType == "overloaded_error":
		return CodeOverloaded
	case r.APIErrorStatus != 0, r.TerminalReason == "api_error", r.TerminalReason == "image_error":
		return CodeAPIError
	}
	return core.CodeAgentError
}

// says looks for lower-case phrases in the head of claude's words: errors are short, and an
// answer may quote one deep inside.
func (r rawResult) says(phrases ...string) bool {
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

// unixTime reads seconds since 1970; some versions write milliseconds.
func unixTime(n int64) time.Time {
	const notSeconds = 1e11 // the year 5138
	switch {
	case n <= 0:
		return time.Time{}
	case n >= notSeconds:
		return time.UnixMilli(n)
	}
	return time.Unix(n, 0)
}

// claude names the end of a limit in two ways: "…|1749924000", and "… resets 3pm
// (Europe/Berlin)" or "… resets Oct 9, 3:30pm (UTC)". The patterns are compiled on demand,
// since every session host runs this package's init.
var (
	limitStamp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`limit reached\|(\d{9,13})\b`) })
	limitClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`resets (?:at )?(?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at) )?(\d{1,2}(?::\d\d)?[ap]m)(?: \(([\w+/-]+)\))?`)
	})
)

// limitEnds reads the end of a usage limit from the text of a failed turn; zero if the text
// does not name an end. A clock time is the next such time after now, in local time unless
// a zone is named.
func (r rawResult) limitEnds(now time.Time) time.Time {
	for _, s := range append([]string{r.Text}, r.Errors...) {
		if m := limitStamp().FindStringSubmatch(s); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64) // digits, and few
			return unixTime(n)
		}
		if m := limitClock().FindStringSubmatch(s); m != nil {
			return clockTime(now, m[1], m[2], m[3], m[4])
		}
	}
	return time.Time{}
}

func clockTime(now time.Time, month, day, clock, zone string) time.Time {
	// A limit that ended a moment ago is not tomorrow's.
	const momentAgo = 10 * time.Minute
	if loc, err := time.LoadLocation(zone); zone != "" && err == nil {
		now = now.In(loc)
	}
	layout := "3pm"
	if strings.Contains(clock, ":") {
		layout = "3:04pm"
	}
	c, err := time.Parse(layout, clock)
	if err != nil {
		return time.Time{} // 13pm
	}
	date := now
	if month != "" {
		if date, err = time.ParseInLocation("Jan 2 2006", month+" "+day+" "+strconv.Itoa(now.Year()), now.Location()); err != nil {
			return time.Time{} // Foo 99
		}
	}
	t := time.Date(date.Year(), date.Month(), date.Day(), c.Hour(), c.Minute(), 0, 0, now.Location())
	switch passed := t.Before(now.Add(-momentAgo)); {
	case passed && month != "":
		return t.AddDate(1, 0, 0)
	case passed:
		return t.AddDate(0, 0, 1)
	}
	return t
}

// CodeAgentTimeout is the code of a claude that did not get ready in time.
const CodeAgentTimeout = "agent_timeout"

// An Exit is the end of a claude process, also as an entry of a host's event log.
type Exit struct {
	Status  int    `json:"code"`              // exit status, -1 after a signal
	Signal  string `json:"signal,omitempty"`  // the signal's name
	Stderr  string `json:"stderr,omitempty"`  // the end of stderr
	Ready   bool   `json:"ready"`             // claude had answered initialize
	Timeout bool   `json:"timeout,omitempty"` // ended because initialize was not answered in time
	Idle    bool   `json:"idle,omitempty"`    // ended by the host, idle and without a daemon
	Stopped bool   `json:"stopped,omitempty"` // ended by the host: claude began a turn by itself while the gateway was stopped
	Error   string `json:"error,omitempty"`   // the process could not be started
}

// Core returns the exit for a lane.
func (e Exit) Core() *core.Exit {
	x := &core.Exit{Reason: e.reason()}
	x.Code, x.Text = e.explain()
	return x
}

func (e Exit) reason() core.ExitReason {
	switch {
	case e.Ready:
		return core.ExitOther
	case strings.Contains(e.Stderr, "No conversation found with session ID"):
		return core.ExitUnknownSession
	case strings.Contains(e.Stderr, "Session ID") && strings.Contains(e.Stderr, "is already in use"):
		return core.ExitSessionInUse
	case e.Signal == "" || e.Timeout:
		return core.ExitStartFailed
	}
	return core.ExitOther // a killed claude may start the next time
}

func (e Exit) explain() (code, text string) {
	words := lastLines(e.Stderr)
	switch {
	case e.Error != "":
		return core.CodeAgentMissing, "Claude could not be run: " + e.Error + ". Check BARECLAW_CLAUDE."
	case e.Timeout:
		return CodeAgentTimeout, "Claude did not get ready in time (BARECLAW_START_TIMEOUT) and was ended." + words
	case !e.Ready:
		return core.CodeAgentStart, "Claude ended while starting, " + e.how() + "." + words
	case e.Idle:
		return core.CodeAgentExit, "The idle session was ended while no gateway was running."
	case e.Stopped:
		return core.CodeAgentExit, "The session was ended: Claude began a turn by itself while the gateway was stopped."
	case e.Signal == "" && e.Status == 0:
		return core.CodeAgentExit, "Claude ended by itself, with exit status 0." + words
	}
	return core.CodeAgentExit, "Claude ended in the middle of its work, " + e.how() + "." + words
}

// IsNotProgram reports whether there was nothing to run: the system could not, or the program is
// a script whose interpreter found nothing.
func (e Exit) IsNotProgram() bool { return e.Error != "" || e.Status == 126 || e.Status == 127 }

func (e Exit) how() string {
	if e.Signal != "" {
		return "by the signal " + e.Signal
	}
	return fmt.Sprintf("with exit status %d", e.Status)
}

func lastLines(stderr string) string {
	const keep = 400
	s := strings.TrimSpace(stderr)
	if s == "" {
		return ""
	}
	if len(s) > keep {
		s = "…" + strings.ToValidUTF8(s[len(s)-keep:], "")
	}
	return " It said: " + strings.Join(strings.Fields(s), " ")
}
