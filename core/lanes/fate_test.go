package lanes

import (
	"errors"
	"testing"

	"bareclaw/core"
)

// TestVerdict: each cut turn is handed over again, or gets the outcome that its facts allow.
func TestVerdict(t *testing.T) {
	t.Parallel()
	unread := errors.New("unread")
	crash := &core.Exit{Code: core.CodeAgentExit, Text: "It crashed."}
	stopped := &stop{reply: interruption("Interrupted on request.")}
	late := &stop{reply: failure(core.CodeTimeout, "Too late.")}
	failed := &core.Result{IsError: true, Code: "api", Error: "API error"}
	const again = "again"
	for name, c := range map[string]struct {
		cut                     cut
		verdict                 core.State
		code, text              string
		uncounted, namesSetting bool
	}{
		"not begun":                        {cut{}, again, "", "", false, false},
		"text only":                        {cut{record: core.Fate{Begun: true}, attempts: 1}, again, "", "", false, false},
		"too often":                        {cut{attempts: 3, exit: crash}, core.Failed, core.CodeAgentExit, "It crashed. This message was tried 3 times.", false, false},
		"too often, host lost":             {cut{attempts: 3}, core.Failed, core.CodeAgentExit, "Claude stopped unexpectedly. This message was tried 3 times.", false, false},
		"answered":                         {cut{record: core.Fate{Answered: true, Text: "ok"}, attempts: 1, toolBegun: true, stop: stopped}, core.Answered, "", "ok", false, false},
		"ended in an error":                {cut{record: core.Fate{Failed: true, Code: "api", Text: "no"}, attempts: 1, refusal: crash}, core.Failed, "api", "no", false, false},
		"tool on record":                   {cut{record: core.Fate{ToolBegun: true}, attempts: 1, exit: crash}, core.Failed, core.CodeInterrupted, "The turn was interrupted: It crashed. What it had begun is not known. It was not run again; retry it to go on from there.", false, false},
		"tool in the events":               {cut{toolBegun: true, attempts: 1, progress: "Bash: make"}, core.Failed, core.CodeInterrupted, "The turn was interrupted: the process that worked on it is gone. Done before that: Bash: make. It was not run again; retry it to go on from there.", false, false},
		"interrupted on record":            {cut{record: core.Fate{Interrupted: true}, attempts: 1, exit: crash}, core.Failed, core.CodeInterrupted, "The turn was interrupted: It crashed. What it had begun is not known. It was not run again; retry it to go on from there.", false, false},
		"stopped":                          {cut{stop: stopped, attempts: 1, toolBegun: true, progress: "Bash: make"}, core.Cancelled, core.CodeInterrupted, "Interrupted on request. Done before that: Bash: make.", false, false},
		"timed out":                        {cut{stop: late, attempts: 1}, core.Failed, core.CodeTimeout, "Too late.", false, false},
		"no record":                        {cut{recordErr: unread, attempts: 1}, core.Failed, core.CodeInterrupted, "The turn was cut, and its record cannot be read (unread). What it had begun is not known. It was not run again; retry it to go on from there.", false, false},
		"no record, never handed over":     {cut{recordErr: unread}, again, "", "", false, false},
		"refused, restart":                 {cut{restart: true, handed: true, attempts: 1, refusal: crash}, again, "", "", true, false},
		"refused":                          {cut{handed: true, attempts: 1, refusal: crash}, core.Failed, core.CodeAgentExit, "It crashed.", false, true},
		"refused, stopped":                 {cut{handed: true, attempts: 1, refusal: crash, stop: stopped}, core.Cancelled, core.CodeInterrupted, "Interrupted on request.", false, false},
		"refused, waiting":                 {cut{refusal: crash}, again, "", "", false, false},
		"unassigned error":                 {cut{unassigned: failed, handed: true, attempts: 1}, core.Failed, "api", "API error", false, false},
		"unassigned error of another turn": {cut{unassigned: failed, attempts: 1}, again, "", "", false, false},
		"no answer":                        {cut{byAgent: true, attempts: 1, handed: true}, core.Failed, core.CodeInterrupted, "Claude ended this turn without an answer. What it had begun is not known. It was not run again; retry it to go on from there.", false, false},
		"no answer after a crash":          {cut{byAgent: true, attempts: 2, handed: true, exit: crash}, core.Failed, core.CodeAgentExit, "It crashed. This message was tried 2 times.", false, false},
		"no answer after a crash and tool": {cut{byAgent: true, attempts: 2, handed: true, exit: crash, toolBegun: true, progress: "Bash"}, core.Failed, core.CodeInterrupted, "Claude ended this turn without an answer. Done before that: Bash. It was not run again; retry it to go on from there.", false, false},
		"no answer, stopped":               {cut{byAgent: true, attempts: 1, handed: true, stop: stopped}, core.Cancelled, core.CodeInterrupted, "Interrupted on request.", false, false},
		"no answer, on record":             {cut{byAgent: true, record: core.Fate{Answered: true, Text: "ok"}, stop: stopped}, core.Answered, "", "ok", false, false},
	} {
		v := c.cut.verdict()
		if !v.again {
			v.reply = v.reply.Complete()
		}
		state := v.reply.State
		if v.again {
			state = again
		}
		if state != c.verdict || v.reply.Code != c.code || v.reply.Text != c.text || v.uncount != c.uncounted || v.undo != c.namesSetting {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
