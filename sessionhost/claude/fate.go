package claude

import (
	"fmt"
	"slices"
	"strings"

	"bareclaw/core"
)

// turn collects the fate of a turn from its transcript entries. Later entries overrule
// earlier ones: an answer follows a repeated error.
type turn struct {
	by          string // the uuid of the first message
	interrupted bool
	end         core.Fate // Answered, Failed, Code and Text, as the turn stands after an entry
	calls       []call
}

// A call is one tool call that the turn began.
type call struct {
	id, name string // the name is Bash, Edit, mcp__server__tool, …
	target   string // what the call worked on
	refused  bool   // it never ran
	finished bool   // the result is known; else the call may have run in part or in full
}

// String describes the call for a person.
func (c call) String() string {
	s := c.name
	if c.target != "" {
		s += " (" + c.target + ")"
	}
	if !c.finished {
		s += ", not finished"
	}
	return s
}

func (t *turn) add(e *entry) {
	switch e.Type {
	case TypeAssistant:
		t.addAssistant(e)
	case TypeUser:
		t.addUser(e)
	case TypeSystem:
		if e.Subtype == "local_command" {
			t.printed(text(e.Printed))
		}
	case "attachment":
		if e.Attachment.Type == "max_turns_reached" {
			t.failed(rawResult{IsError: true, Subtype: "error_max_turns"})
		}
	}
}

func (t *turn) addAssistant(e *entry) {
	switch {
	case e.APIError:
		t.failed(rawResult{IsError: true, TerminalReason: "api_error", Text: e.head(),
			APIErrorStatus: e.APIErrorStatus, APIErrorType: e.APIErrorType})
		return
	case e.Message.Model == "<synthetic>":
		return // "No response requested.", put in when an unfinished turn is resumed
	case e.Aborted:
		t.interrupted = true
		return
	}
	for _, b := range e.Message.Content {
		switch {
		case isToolCall(b.Type):
			t.end = core.Fate{}
			if !slices.ContainsFunc(t.calls, func(c call) bool { return c.id == b.ID }) {
				t.calls = append(t.calls, call{id: b.ID, name: b.Name, target: ToolTarget(b.Input)})
			}
		case b.Type == "text" && (e.Message.StopReason == "end_turn" || e.Message.StopReason == "stop_sequence"):
			t.end = core.Fate{Answered: true, Text: b.Text}
		case b.Type == "text":
			t.end = core.Fate{} // words before a tool call, or cut by max_tokens and continued
		}
	}
}

func (t *turn) addUser(e *entry) {
	for _, b := range e.Message.Content {
		if b.Type == "tool_result" {
			t.returned(b.ToolUseID, e)
		}
	}
	switch head := e.head(); {
	case strings.HasPrefix(head, markInterrupt):
		t.interrupted = true
		t.end = core.Fate{}
	case strings.HasPrefix(head, markStdout):
		t.printed(head)
	case e.Meta && head != "" && !strings.HasPrefix(head, markCaveat):
		t.end = core.Fate{} // claude's own request to go on; the caveat belongs to the next command
	}
}

// returned notes the result of a call. A call stopped while it ran (by an interrupt, or a
// resumed session) stays unfinished; a call refused before it ran does not count.
func (t *turn) returned(id string, e *entry) {
	for i := range t.calls {
		c := &t.calls[i]
		if c.id != id {
			continue
		}
		switch {
		case e.Denial == "":
			c.finished = true
		case e.DeniedBeforeRun, e.Denial != "interrupted" && e.Denial != "user-rejected":
			c.refused = true
		}
	}
}

func (t *turn) printed(s string) {
	s = strings.TrimPrefix(s, markStdout)
	s, _, _ = strings.Cut(s, "</local-command-stdout>")
	t.end = core.Fate{Answered: true, Text: strings.TrimSpace(s)}
}

func (t *turn) failed(r rawResult) {
	code, sentence := r.failure()
	t.end = core.Fate{Failed: true, Code: code, Text: sentence}
}

func (t *turn) fate() core.Fate {
	f := t.end
	f.Begun, f.ToolBegun, f.Done = true, len(t.calls) > 0, t.done()
	f.Interrupted = t.interrupted && !f.Answered
	return f
}

// done describes the calls for a person, the last ones if they are many.
func (t *turn) done() string {
	const most = 5
	var parts []string
	for _, c := range t.calls {
		if !c.refused {
			parts = append(parts, c.String())
		}
	}
	if over := len(parts) - most; over > 0 {
		parts = append([]string{fmt.Sprintf("%d other tool calls", over)}, parts[over:]...)
	}
	return strings.Join(parts, "; ")
}
