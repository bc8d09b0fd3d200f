package claude

import (
	"bareclaw/core"
	"fmt"
	"strings"
)

// The codes of exits before claude was ready.
const (
	CodeAgentMissing = "agent_missing" // claude could not be run
	CodeAgentTimeout = "agent_timeout" // claude did not get ready in time
	CodeAgentStart   = "agent_start"   // claude ended while it started
)

// An Exit is the end of a claude process, also as an entry of a host's event log.
type Exit struct {
	Status  int    `json:"code"`              // exit status, -1 after a signal
	Signal  string `json:"signal,omitempty"`  // the signal's name
	Stderr  string `json:"stderr,omitempty"`  // the end of stderr
	Ready   bool   `json:"ready"`             // claude had answered initialize
	Timeout bool   `json:"timeout,omitempty"` // ended because initialize was not answered in time
	Idle    bool   `json:"idle,omitempty"`    // ended by the host, idle and without a daemon
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

// explain returns a stable code for programs, and the cause and remedy for a person.
func (e Exit) explain() (code, text string) {
	words := lastLines(e.Stderr)
	switch {
	case e.Error != "":
		return CodeAgentMissing, "Claude could not be run: " + e.Error + ". Check BARECLAW_CLAUDE."
	case e.Timeout:
		return CodeAgentTimeout, "Claude did not get ready in time (BARECLAW_START_TIMEOUT) and was ended." + words
	case !e.Ready:
		return CodeAgentStart, "Claude ended while starting, " + e.how() + "." + words
	case e.Idle:
		return core.CodeAgentExit, "The idle session was ended while no gateway was running."
	case e.Signal == "" && e.Status == 0:
		return core.CodeAgentExit, "Claude ended by itself, with exit status 0." + words
	}
	return core.CodeAgentExit, "Claude ended in the middle of its work, " + e.how() + "." + words
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
