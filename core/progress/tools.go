package progress

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"
)

const (
	keptLines = 20
	// maxCalls bounds the open calls; a working agent never has more.
	maxCalls = 256
)

// A Line is a tool call in a list of calls.
type Line struct {
	ID      string
	Tool    string // display name
	Target  string // object of the tool: a single line, at most 80 characters, free of control characters
	At      time.Time
	Took    time.Duration // set once the call has ended
	Ended   bool
	IsError bool // the call failed, or was denied
	Hidden  bool // of no interest to a person who did not request every call
	Sub     bool // call of a sub-agent
}

// String formats the call as a line, constant once the call has ended.
func (l Line) String() string {
	took, how := "", ""
	if l.Ended && l.Took >= time.Second {
		took = clock(l.Took)
	}
	if l.IsError {
		how = "failed"
	}
	return joined(labelled(l.Tool, l.Target), took, how)
}

type call struct {
	Line

	name   string
	parent string
	input  json.RawMessage
}

// called records a call. A call is reported twice: when announced, and with the input. A
// call by the agent itself completes the agent's preceding text; a call by a sub-agent does
// not.
func (t *turn) called(at time.Time, s core.DisplayEvent) {
	if s.ID == "" {
		return
	}
	if !t.known.add(s.ID) {
		if c := t.call(s.ID); c != nil && c.input == nil {
			t.detail(c, s)
		}
		return
	}
	if s.Parent == "" {
		t.followed()
		t.goesOn()
	}
	c := &call{name: s.Tool, parent: s.Parent, Line: Line{ID: s.ID, Tool: toolName(s.Tool), At: at, Hidden: isNoise(s.Tool), Sub: s.Parent != ""}}
	t.detail(c, s)
	if t.shows(c) {
		t.Tools++
	}
	t.calls, t.lines = bounded(append(t.calls, c), maxCalls), bounded(append(t.lines, c), keptLines)
}

func (t *turn) detail(c *call, s core.DisplayEvent) {
	c.input = s.Input
	c.Target = targetText(s.Tool, s.Target, t.dir, maxLine-len([]rune(c.Tool))-len(": "))
}

func (t *turn) call(id string) *call {
	i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return t.calls[i]
}

// callEnded closes a call and reports the call with the resulting changes.
func (t *turn) callEnded(at time.Time, s core.DisplayEvent) {
	c := t.call(s.ID)
	if c == nil {
		return
	}
	t.calls = slices.DeleteFunc(t.calls, func(o *call) bool { return o == c })
	c.Ended, c.IsError, c.Took = true, s.IsError, max(0, at.Sub(c.At))
	t.news.Calls = append(t.news.Calls, c.Line)
	if !s.IsError {
		t.news.Changes = append(t.news.Changes, changes(c.name, s.ID, c.input)...)
	}
	c.input = nil
}

// shows reports whether the View counts the call: the agent waits for the call, because the
// agent itself or a sub-agent with an open call made the call, and the call is not hidden.
func (t *turn) shows(c *call) bool {
	return !c.Hidden && (c.parent == "" || t.call(c.parent) != nil)
}

// isNoise reports whether the tool is for the agent's own bookkeeping. Lists of plans, tools
// and tasks say nothing about the work.
func isNoise(tool string) bool {
	switch tool {
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", core.ToolExitPlan,
		"ToolSearch", "Skill", "ListMcpResourcesTool", "ReadMcpResourceTool", "StructuredOutput", core.ToolAskUser:
		return true
	}
	return false
}

// bounded drops elements beyond limit from the front.
func bounded[T any](s []T, limit int) []T { return s[max(0, len(s)-limit):] }

// A Change is a part of a file replaced by a tool call.
type Change struct {
	ID   string // unique, and the same in each replay
	Tool string // Edit, MultiEdit, Write, NotebookEdit
	File string // path as written by the agent: untrusted
	Old  string // empty if unknown, as with Write and NotebookEdit
	New  string
}

// changes returns the replacements made by a call with the input: a single Change, or a
// Change for each edit of a MultiEdit. The result is empty for tools that change no files
// and for malformed input.
func changes(tool, id string, input json.RawMessage) []Change {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Old      string `json:"old_string"`
		New      string `json:"new_string"`
		Content  string `json:"content"`
		Source   string `json:"new_source"`
		Edits    []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		} `json:"edits"`
	}
	if core.DecodeInput(input, &in) != nil {
		return nil
	}
	switch tool {
	case "Edit":
		return []Change{{ID: id, Tool: tool, File: in.File, Old: in.Old, New: in.New}}
	case "Write":
		return []Change{{ID: id, Tool: tool, File: in.File, New: in.Content}}
	case "NotebookEdit":
		return []Change{{ID: id, Tool: tool, File: in.Notebook, New: in.Source}}
	case "MultiEdit":
		var all []Change
		for i, e := range in.Edits {
			all = append(all, Change{ID: fmt.Sprintf("%s/%d", id, i), Tool: tool, File: in.File, Old: e.Old, New: e.New})
		}
		return all
	}
	return nil
}
