package claude

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A Launch is how a claude is started. Zero fields omit their flags.
type Launch struct {
	SessionID string // a UUID
	Resume    bool   // continue the session instead of creating it
	MaxTurns  int    // model requests in one turn
	// MaxBudgetUSD is the budget of the process. claude counts from its start or the last
	// /clear, checks between model requests, and then refuses every turn at once with the
	// same error.
	MaxBudgetUSD float64
	AllowedTools string // rules separated by commas
	// Allow are further rules, passed through --settings: --allowedTools splits rules at
	// brackets and commas, and one unreadable rule would spoil the others.
	Allow              []string
	Model              string
	PermissionMode     string
	AppendSystemPrompt string
}

// Args returns the command line after the program's name. No value is taken for a flag.
func (l Launch) Args() []string {
	args := []string{
		"-p",
		"--input-format", "stream-json",
		"--output-format", "stream-json",
		"--verbose", // required by stream-json output
		"--include-partial-messages",
		"--replay-user-messages",
		"--permission-prompt-tool", "stdio",
		"--system-prompt-snapshot", "off", // else a changed prompt is ignored on resume
	}
	if l.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(l.MaxTurns))
	}
	if l.MaxBudgetUSD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(l.MaxBudgetUSD, 'f', -1, 64))
	}
	// --allowedTools takes every argument up to the next flag, so a flag must follow:
	// always the session's.
	args = appendFlag(args, "--allowedTools", l.AllowedTools)
	args = appendFlag(args, "--settings", l.settings())
	args = appendFlag(args, "--model", l.Model)
	args = appendFlag(args, "--permission-mode", l.PermissionMode)
	args = appendFlag(args, "--append-system-prompt", l.AppendSystemPrompt)
	if l.Resume {
		return appendFlag(args, "--resume", l.SessionID)
	}
	return appendFlag(args, "--session-id", l.SessionID)
}

// settings returns the settings laid over the user's own, "" without any. Lists of rules
// add up.
func (l Launch) settings() string {
	if len(l.Allow) == 0 {
		return ""
	}
	b, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": l.Allow}})
	if err != nil {
		panic("claude: strings do not encode: " + err.Error())
	}
	return string(b)
}

func appendFlag(args []string, flag, value string) []string {
	switch {
	case value == "":
		return args
	case strings.HasPrefix(value, "-"):
		return append(args, flag+"="+value)
	}
	return append(args, flag, value)
}
