package claude

import (
	"fmt"
	"strings"
)

// An Exit is how a claude process ended.
type Exit struct {
	Status  int    // -1 when a signal ended it
	Signal  string // that signal's name
	Stderr  string // the last of what it printed there
	Ready   bool   // it had answered initialize
	Timeout bool   // it was ended because it did not
	Error   string // it could not be run at all
}

// UnknownSession reports that --resume named a session claude does not know.
func (e Exit) UnknownSession() bool {
	return !e.Ready && strings.Contains(e.Stderr, "No conversation found with session ID")
}

// SessionInUse reports that --session-id named a session that exists.
func (e Exit) SessionInUse() bool {
	return !e.Ready && strings.Contains(e.Stderr, "Session ID") && strings.Contains(e.Stderr, "is already in use")
}

// Explain says what happened, and what to do, in sentences for a person, with a
// stable code word for programs.
func (e Exit) Explain() (code, text string) {
	words := lastLines(e.Stderr)
	switch {
	case e.Error != "":
		return "agent_missing", "Claude could not be run: " + e.Error + ". Check BARECLAW_CLAUDE."
	case e.Timeout:
		return "agent_timeout", "Claude did not get ready in time (BARECLAW_START_TIMEOUT) and was ended." + words
	case !e.Ready:
		return "agent_start", "Claude ended while starting, " + e.how() + "." + words
	}
	return "agent_exit", "Claude ended in the middle of its work, " + e.how() + "." + words
}

func (e Exit) how() string {
	if e.Signal != "" {
		return "by the signal " + e.Signal
	}
	return fmt.Sprintf("with exit status %d", e.Status)
}

// lastLines quotes the end of stderr for a sentence.
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
