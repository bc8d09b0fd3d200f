package claude

import (
	"strings"
	"unicode/utf8"
)

// A Fate is what a transcript knows of one turn.
//
// It lags behind what happened. claude writes an entry up to 100 ms late, and
// a model message only when it has ended, although it runs the message's tools
// before that. So after a kill the last text may be missing, and with it a
// tool that ran. Who has seen the turn's events joins ToolBegun with
// Event.BeginsTool and believes either.
type Fate struct {
	Begun       bool   // the message is in the transcript
	ToolBegun   bool   // the turn called a tool
	Answered    bool   // the turn came to its end; Text is the answer and may be ""
	Failed      bool   // the turn ended in an error; Text says which, for a person
	Code        string // of the failure, as in Result.Failure
	Text        string
	Interrupted bool   // the turn was stopped on request, and a resend is not run
	Command     bool   // a slash command: a resend always runs it again
	Into        string // the uuid of the message whose turn this one was merged or folded into
	Done        []ToolUse
}

// A ToolUse is one call that the turn began, in the order of the calls. Calls
// that were refused before they ran are not listed.
type ToolUse struct {
	Name     string // Bash, Edit, mcp__server__tool, …
	Target   string // what it worked on, if it says so: a command, a path, an address; at most 200 bytes
	Finished bool   // its result is known; else it may have run in part or in full
}

// Resendable reports whether sending the same message with the same uuid to a
// resumed claude runs the turn, without repeating anything but text: claude
// runs what it has not seen and what was cut before any tool, and answers
// everything else "completed" without a result. seenTool says that an event of
// the turn began a tool, whatever the transcript says.
func (f Fate) Resendable(seenTool bool) bool {
	if !f.Begun {
		return !seenTool
	}
	return !seenTool && !f.ToolBegun && !f.Answered && !f.Failed && !f.Interrupted
}

// turn collects a Fate from the entries of one turn. The later entry is right:
// an error that was retried is followed by the answer.
type turn struct {
	by          string // the uuid of the message that began it
	command     bool
	interrupted bool
	end         ending
	calls       []call
}

// ending is how the turn stands after an entry.
type ending struct {
	answered, failed bool
	code, text       string
}

type call struct {
	id      string
	refused bool // it never ran
	use     ToolUse
}

func (t *turn) add(e *entry) {
	switch e.kind {
	case TypeAssistant:
		t.addAssistant(e)
	case TypeUser:
		t.addUser(e)
	case TypeSystem:
		if e.subtype == "local_command" {
			t.printed(text(e.rawContent))
		}
	case "attachment":
		if e.attachment("type") == "max_turns_reached" {
			t.failed(Result{IsError: true, Subtype: "error_max_turns"})
		}
	}
}

func (t *turn) addAssistant(e *entry) {
	blocks, m := e.content(), e.message
	switch {
	case e.apiError:
		t.failed(Result{IsError: true, TerminalReason: "api_error", Text: e.head(),
			APIErrorStatus: e.apiErrorStatus, APIErrorType: e.apiErrorType})
		return
	case m.model == "<synthetic>":
		return // "No response requested.", put in when an unfinished turn is resumed
	case e.aborted:
		t.interrupted = true
		return
	}
	for _, b := range blocks {
		switch {
		case isToolCall(b.Type):
			t.end = ending{}
			t.called(b)
		case b.Type == "text" && (m.stopReason == "end_turn" || m.stopReason == "stop_sequence"):
			t.end = ending{answered: true, text: b.Text}
		case b.Type == "text":
			t.end = ending{} // words before a tool call, or cut by max_tokens and continued
		}
	}
}

func (t *turn) called(b Block) {
	for _, c := range t.calls {
		if c.id == b.ID {
			return
		}
	}
	t.calls = append(t.calls, call{id: b.ID, use: ToolUse{Name: b.Name, Target: target(b.Input)}})
}

func (t *turn) addUser(e *entry) {
	for _, b := range e.content() {
		if b.Type == "tool_result" {
			t.returned(b.ToolUseID, e)
		}
	}
	switch head := e.head(); {
	case strings.HasPrefix(head, markInterrupt):
		t.interrupted = true
		t.end = ending{}
	case strings.HasPrefix(head, markStdout):
		t.printed(head)
	case e.meta && head != "" && !strings.HasPrefix(head, markCaveat):
		t.end = ending{} // claude tells itself to go on; the caveat belongs to the command after it
	}
}

// returned notes the result of a call. A call that was stopped while it ran
// (by an interrupt, or found open when the session was resumed) stays
// unfinished; one that was refused before it ran is as if it had not been.
func (t *turn) returned(id string, e *entry) {
	for i := range t.calls {
		c := &t.calls[i]
		if c.id != id {
			continue
		}
		switch {
		case e.denial == "":
			c.use.Finished = true
		case e.deniedBeforeRun, e.denial != "interrupted" && e.denial != "user-rejected":
			c.refused = true
		}
	}
}

// printed notes the output of a slash command, which is its answer.
func (t *turn) printed(s string) {
	s = strings.TrimPrefix(s, markStdout)
	s, _, _ = strings.Cut(s, "</local-command-stdout>")
	t.end = ending{answered: true, text: strings.TrimSpace(s)}
}

func (t *turn) failed(r Result) {
	code, sentence := r.Failure()
	t.end = ending{failed: true, code: code, text: sentence}
}

func (t *turn) fate() Fate {
	f := Fate{
		Begun:       true,
		ToolBegun:   len(t.calls) > 0,
		Answered:    t.end.answered,
		Failed:      t.end.failed,
		Code:        t.end.code,
		Text:        t.end.text,
		Interrupted: t.interrupted && !t.end.answered,
		Command:     t.command,
	}
	for _, c := range t.calls {
		if !c.refused {
			f.Done = append(f.Done, c.use)
		}
	}
	return f
}

// targetBytes bounds a ToolUse.Target: it is shown, not used.
const targetBytes = 200

// target picks from a tool's input what tells a person most about it.
func target(input []byte) string {
	keys := [...]string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "description", "prompt"}
	best, rank := "", len(keys)
	_ = eachField(input, func(key, value []byte) { // no object, no target
		for i, k := range keys[:rank] {
			if string(key) == k && text(value) != "" {
				best, rank = text(value), i
			}
		}
	})
	if len(best) > targetBytes {
		cut := targetBytes
		for cut > 0 && !utf8.RuneStart(best[cut]) {
			cut--
		}
		best = best[:cut]
	}
	return best
}
