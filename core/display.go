package core

import "encoding/json"

// A DisplayKind is the kind of a [DisplayEvent].
type DisplayKind string

// The kinds of display events. Each has Parent besides the fields named.
const (
	DisplayTextBegin  DisplayKind = "text_begin" // Message, Index: the agent begins a block of text
	DisplayTextDelta  DisplayKind = "text_delta" // Message, Index, Text: the next piece of the block
	DisplayText       DisplayKind = "text"       // ID, Message, Text: the whole block; pieces of the block come earlier or never
	DisplayThinking   DisplayKind = "thinking"   // the agent thinks
	DisplayTool       DisplayKind = "tool"       // ID, Tool; Target and Input when the call is repeated with both known
	DisplayToolEnd    DisplayKind = "tool_end"   // ID, IsError
	DisplayCompacting DisplayKind = "compacting" // the conversation is being shortened
	DisplayCompacted  DisplayKind = "compacted"  // the conversation was shortened, or shortening failed
	DisplayRetry      DisplayKind = "retry"      // Text: why an API call is repeated, and the number of the attempt
	DisplayTasks      DisplayKind = "tasks"      // Tasks
)

// A DisplayEvent is an element of an agent's line for display while a turn runs. Adapters
// receive a function that finds the events in an update's Raw: func(raw json.RawMessage)
// []DisplayEvent. The function is stateless: a replayed line yields the same events under
// the same ids.
type DisplayEvent struct {
	Kind    DisplayKind
	ID      string          // of a whole text or of a tool call: unique, and the same in each replay
	Message string          // the agent's id of the message containing the text; may be empty
	Index   int             // index of the streamed block in Message
	Parent  string          // tool call that started the speaking sub-agent; empty for the agent itself
	Text    string          // text of a sub-agent is not meant for the person
	Tool    string          // the tool's name
	Target  string          // object of the tool, for display: untrusted, at most 200 bytes
	Input   json.RawMessage // input of the call; must not be modified
	IsError bool            // the call failed or was denied
	Tasks   int             // background tasks that are alive
}
