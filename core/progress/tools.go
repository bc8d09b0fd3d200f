package progress

import (
	"encoding/json"
	"slices"
	"time"

	"bareclaw/core"
)

const (
	keptLines = 20
	// maxCalls bounds the calls that are open at once: more is no agent that works.
	maxCalls = 256
)

// A Line is one call of a tool, for a list of them.
type Line struct {
	ID      string
	Tool    string // as a person reads it
	Target  string // what it works on: one line, at most 80 characters, free of control characters
	At      time.Time
	Took    time.Duration // once it has ended
	Ended   bool
	IsError bool // it failed, or was denied
	Hidden  bool // it says nothing to somebody who did not ask for each call
	Sub     bool // a sub-agent's
}

// String is the call in one line. It does not change once the call has ended.
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

// A call is one that has not ended.
type call struct {
	line   *Line
	name   string
	parent string
	input  json.RawMessage
}

// Lines returns the newest calls of the turn that runs, or ran last: at most 20,
// oldest first.
func (f *Fold) Lines() []Line {
	if f.turn == nil {
		return nil
	}
	lines := make([]Line, len(f.turn.lines))
	for i, l := range f.turn.lines {
		lines[i] = *l
	}
	return lines
}

// called notes a call. It comes twice: announced, and with its input. What the
// agent itself calls follows its text; what a sub-agent calls does not.
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

// detail notes what is called, once it is known.
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

// callEnded closes a call and returns what it has changed.
func (t *turn) callEnded(at time.Time, s core.DisplayEvent) []Change {
	c := t.call(s.ID)
	if c == nil {
		return nil
	}
	t.calls = slices.DeleteFunc(t.calls, func(o *call) bool { return o == c })
	c.line.Ended, c.line.IsError, c.line.Took = true, s.IsError, max(0, at.Sub(c.line.At))
	if s.IsError {
		return nil
	}
	return changes(c.name, s.ID, c.input)
}

// current returns the call that the View names: the newest that the agent waits for
// and that says something to a person.
func (t *turn) current() *call {
	for _, c := range slices.Backward(t.calls) {
		if !c.line.Hidden && t.awaited(c) {
			return c
		}
	}
	return nil
}

// awaited reports whether the agent waits for the call: its own, or that of a
// sub-agent which it waits for.
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

// askTool is how the agent asks a person, who sees the question itself.
const askTool = "AskUserQuestion"

// planTool is how it asks whether a plan is to be carried out.
const planTool = "ExitPlanMode"

// isNoise knows the tools that the agent keeps its own books with. A list of plans,
// tools and tasks it has read says nothing of the work.
func isNoise(tool string) bool {
	switch tool {
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", "ExitPlanMode",
		"ToolSearch", "Skill", "ListMcpResourcesTool", "ReadMcpResourceTool", "StructuredOutput", askTool:
		return true
	}
	return false
}

// bounded drops what is too much from the front.
func bounded[T any](s []T, limit int) []T { return s[max(0, len(s)-limit):] }
