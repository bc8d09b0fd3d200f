package progress

import (
	"encoding/json"
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

// A call is an open tool call.
type call struct {
	line   *Line
	name   string
	parent string
	input  json.RawMessage
}

// called records a call. A call is reported twice: when announced, and with the input. A
// call by the agent itself completes the agent's preceding text; a call by a sub-agent does
// not.
func (t *turn) called(at time.Time, s core.DisplayEvent) []Said {
	if s.ID == "" {
		return nil
	}
	if !t.known.add(s.ID) {
		if c := t.call(s.ID); c != nil && c.input == nil {
			t.detail(c, s)
		}
		return nil
	}
	var said []Said
	if s.Parent == "" {
		said = t.followed()
		t.goesOn()
	}
	c := &call{name: s.Tool, parent: s.Parent, line: &Line{ID: s.ID, Tool: toolName(s.Tool), At: at, Hidden: isNoise(s.Tool), Sub: s.Parent != ""}}
	t.detail(c, s)
	if !c.line.Hidden && t.awaited(c) {
		t.tools++
	}
	t.calls, t.lines = bounded(append(t.calls, c), maxCalls), bounded(append(t.lines, c.line), keptLines)
	return said
}

// detail records the input and the target of a call, once known.
func (t *turn) detail(c *call, s core.DisplayEvent) {
	c.input = s.Input
	c.line.Target = targetText(s.Tool, s.Target, t.dir, maxLine-len([]rune(c.line.Tool))-len(": "))
}

func (t *turn) call(id string) *call {
	i := slices.IndexFunc(t.calls, func(c *call) bool { return c.line.ID == id })
	if i < 0 {
		return nil
	}
	return t.calls[i]
}

// callEnded closes a call and returns the call with the resulting changes.
func (t *turn) callEnded(at time.Time, s core.DisplayEvent) News {
	c := t.call(s.ID)
	if c == nil {
		return News{}
	}
	t.calls = slices.DeleteFunc(t.calls, func(o *call) bool { return o == c })
	c.line.Ended, c.line.IsError, c.line.Took = true, s.IsError, max(0, at.Sub(c.line.At))
	n := News{Calls: []Line{*c.line}}
	if !s.IsError {
		n.Changes = changes(c.name, s.ID, c.input)
	}
	return n
}

// current returns the call named by the View: the newest call that the agent waits for,
// hidden calls left out.
func (t *turn) current() *call {
	for _, c := range slices.Backward(t.calls) {
		if !c.line.Hidden && t.awaited(c) {
			return c
		}
	}
	return nil
}

// awaited reports whether the agent waits for the call: a call by the agent itself, or by a
// sub-agent whose own call is open.
func (t *turn) awaited(c *call) bool { return c.parent == "" || t.call(c.parent) != nil }

// agents counts the sub-agents that the agent waits for.
func (t *turn) agents() int {
	n := 0
	for _, c := range t.calls {
		if c.name == "Task" || c.name == "Agent" {
			n++
		}
	}
	return n
}

// askTool is the tool for questions to a person. The person sees the question itself.
const askTool = "AskUserQuestion"

// planTool is the tool that asks for the approval of a plan.
const planTool = "ExitPlanMode"

// isNoise reports whether the tool is for the agent's own bookkeeping. Lists of plans, tools
// and tasks say nothing about the work.
func isNoise(tool string) bool {
	switch tool {
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", "ExitPlanMode",
		"ToolSearch", "Skill", "ListMcpResourcesTool", "ReadMcpResourceTool", "StructuredOutput", askTool:
		return true
	}
	return false
}

// bounded drops elements beyond limit from the front.
func bounded[T any](s []T, limit int) []T { return s[max(0, len(s)-limit):] }
