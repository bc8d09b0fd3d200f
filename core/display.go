package core

import "encoding/json"

// A DisplayKind says what a [DisplayEvent] is about.
type DisplayKind string

// The kinds of what is shown. Each has Parent besides the fields named.
const (
	DisplayTextBegin  DisplayKind = "text_begin" // Message, Index: the agent begins a block of text
	DisplayTextDelta  DisplayKind = "text_delta" // Message, Index, Text: the next piece of it
	DisplayText       DisplayKind = "text"       // ID, Message, Text: the whole block; its pieces came before, or never come
	DisplayThinking   DisplayKind = "thinking"   // the agent thinks
	DisplayTool       DisplayKind = "tool"       // ID, Tool; and Target, Input when the call is told again because they are known
	DisplayToolEnd    DisplayKind = "tool_end"   // ID, IsError
	DisplayCompacting DisplayKind = "compacting" // the conversation is being shortened
	DisplayCompacted  DisplayKind = "compacted"  // or that has failed
	DisplayRetry      DisplayKind = "retry"      // Text: why a call of the API is repeated, and which attempt that is
	DisplayTasks      DisplayKind = "tasks"      // Tasks
)

// A DisplayEvent is one thing in an agent's line that a person sees while a turn runs.
// An adapter is given a function that finds them in an update's Raw:
// func(raw json.RawMessage) []DisplayEvent. It knows nothing of the lines before, so a
// line that comes again is shown as the same again, under the same ids.
type DisplayEvent struct {
	Kind    DisplayKind
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
