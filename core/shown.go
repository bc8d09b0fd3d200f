package core

import "encoding/json"

// ShownKind says what a [Shown] is.
type ShownKind string

// The kinds of what is shown. Each has Parent besides the fields named.
const (
	ShownTextBegin  ShownKind = "text_begin" // Message, Index: the agent begins a block of text
	ShownTextDelta  ShownKind = "text_delta" // Message, Index, Text: the next piece of it
	ShownText       ShownKind = "text"       // ID, Message, Text: the whole block; its pieces came before, or never come
	ShownThinking   ShownKind = "thinking"   // the agent thinks
	ShownTool       ShownKind = "tool"       // ID, Tool; and Target, Input when the call is told again because they are known
	ShownToolEnd    ShownKind = "tool_end"   // ID, IsError
	ShownCompacting ShownKind = "compacting" // the conversation is being shortened
	ShownCompacted  ShownKind = "compacted"  // or that has failed
	ShownRetry      ShownKind = "retry"      // Text: why a call of the API is repeated, and which attempt that is
	ShownTasks      ShownKind = "tasks"      // Tasks
)

// A Shown is one thing in an agent's line that a person sees while a turn runs.
// An adapter is given a function that finds them in an update's Raw:
// func(raw json.RawMessage) []Shown. It knows nothing of the lines before, so a
// line that comes again is shown as the same again, under the same ids.
type Shown struct {
	Kind    ShownKind
	ID      string          // of a whole text, or of one tool call: unique, and the same whenever its line is read
	Message string          // the agent's id of the message that the text is a part of; may be empty
	Index   int             // which block of that message is streamed
	Parent  string          // the tool call that started the sub-agent who speaks; empty for the agent itself
	Text    string          // of a sub-agent it is not meant for the person
	Tool    string          // its name
	Target  string          // what it works on, for display: untrusted, at most 200 bytes
	Input   json.RawMessage // what it is called with; must not be modified
	IsError bool            // the call failed or was denied
	Tasks   int             // background tasks that are alive
}
