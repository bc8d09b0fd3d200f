package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ShownKind says what a Shown is.
type ShownKind string

// The kinds of what a line shows. Each has Parent besides the fields named.
const (
	ShowTextBegin  ShownKind = "text_begin" // Message, Index
	ShowTextDelta  ShownKind = "text_delta" // Message, Index, Text
	ShowText       ShownKind = "text"       // ID, Message, Text: all deltas of the block came before
	ShowThinking   ShownKind = "thinking"   // a block of thinking begins, or is complete
	ShowTool       ShownKind = "tool"       // ID, Tool when it is announced; again with Target and Input
	ShowToolEnd    ShownKind = "tool_end"   // ID, IsError
	ShowCompacting ShownKind = "compacting"
	ShowCompacted  ShownKind = "compacted" // or it failed; claude may say so twice
	ShowRetry      ShownKind = "retry"     // Text
	ShowTasks      ShownKind = "tasks"     // Tasks
)

// A Shown is one thing in a line that a person sees while a turn runs.
type Shown struct {
	Kind    ShownKind
	ID      string          // of a whole text or of a tool call
	Message string          // the API's id of the message
	Index   int             // of a streamed block in its message
	Parent  string          // of a subagent's lines: the call that started it
	Text    string          // a copy
	Tool    string          //
	Target  string          // see ToolTarget
	Input   json.RawMessage // aliases the line
	IsError bool
	Tasks   int // alive
}

// Show returns what a line of claude shows to a person, in order; nothing for most
// lines and for what is no line of claude. The words of an API error are not among
// it: the result says them.
//
// claude tells a block of text twice: in pieces as it is streamed, and whole before
// the block's end. The whole one bears no index, but the line has a uuid, which
// becomes its ID; so it is the same whenever the host says the line again.
func Show(raw json.RawMessage) []Shown {
	var l shownLine
	if eachField(raw, l.member) != nil {
		return nil
	}
	switch l.kind {
	case TypeStreamEvent:
		return l.stream()
	case TypeAssistant:
		return l.assistant(raw)
	case TypeUser:
		return l.user()
	case TypeSystem:
		return l.system(raw)
	}
	return nil
}

// shownLine is what Show reads of a line at the first look. Its values alias it.
type shownLine struct {
	kind, subtype           string
	event, message          []byte
	parent, uuid, messageID []byte
	status, tasks           []byte
	compacted, apiError     bool
}

func (l *shownLine) member(key, value []byte) {
	switch string(key) {
	case "type":
		l.kind = word(value)
	case "subtype":
		l.subtype = word(value)
	case "event":
		l.event = value
	case "message":
		l.message = value
	case "parent_tool_use_id":
		l.parent = value
	case "uuid":
		l.uuid = value
	case "api_message_id":
		l.messageID = value
	case "status":
		l.status = value
	case "tasks":
		l.tasks = value
	case "compact_result":
		l.compacted = true
	case "is_api_error_message":
		l.apiError = boolean(value)
	}
}

func (l *shownLine) stream() []Shown {
	var inner streamed
	index := 0
	_ = eachField(l.event, func(key, value []byte) { // no object: an event without type
		inner.member(key, value)
		if string(key) == "index" {
			index = int(integer(value))
		}
	})
	s := Shown{Message: text(l.messageID), Index: index, Parent: text(l.parent)}
	switch inner.kind {
	case "content_block_delta":
		if member(inner.delta, "type") != "text_delta" {
			return nil
		}
		s.Kind, s.Text = ShowTextDelta, member(inner.delta, "text")
		return []Shown{s}
	case "content_block_start":
		var b Block
		_ = eachField(inner.block, b.member) // no object: a block without type
		switch {
		case b.Type == "text":
			s.Kind = ShowTextBegin
		case isThinking(b.Type):
			s.Kind = ShowThinking
		case isToolCall(b.Type):
			s.Kind, s.ID, s.Tool = ShowTool, b.ID, b.Name
		default:
			return nil
		}
		return []Shown{s}
	}
	return nil
}

func (l *shownLine) assistant(raw []byte) []Shown {
	if l.apiError {
		return nil
	}
	m := decodeMessage(l.message)
	all := make([]Shown, 0, len(m.blocks))
	for i, b := range m.blocks {
		s := Shown{Message: m.id, Parent: text(l.parent)}
		switch {
		case b.Type == "text":
			s.Kind, s.ID, s.Text = ShowText, l.blockID(raw, i), b.Text
		case isThinking(b.Type):
			s.Kind = ShowThinking
		case isToolCall(b.Type):
			s.Kind, s.ID, s.Tool, s.Target, s.Input = ShowTool, b.ID, b.Name, target(b.Input), b.Input
		case isToolResult(b.Type): // of a tool that the API itself runs
			s.Kind, s.ID, s.IsError = ShowToolEnd, b.ToolUseID, b.IsError
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

// blockID names the i-th block of the line: one line has one block, as far as is
// known, and a uuid.
func (l *shownLine) blockID(raw []byte, i int) string {
	id := text(l.uuid)
	if id == "" {
		id = uuid.NewSHA1(uuid.NameSpaceOID, raw).String()
	}
	if i > 0 {
		id = fmt.Sprintf("%s/%d", id, i)
	}
	return id
}

// user shows the ends of tool calls: nothing else that comes as the user's is news
// to a person.
func (l *shownLine) user() []Shown {
	if !bytes.Contains(l.message, []byte(`tool_result"`)) {
		return nil
	}
	var all []Shown
	for _, b := range decodeMessage(l.message).blocks {
		if isToolResult(b.Type) {
			all = append(all, Shown{Kind: ShowToolEnd, ID: b.ToolUseID, IsError: b.IsError, Parent: text(l.parent)})
		}
	}
	return all
}

func (l *shownLine) system(raw []byte) []Shown {
	s := Shown{Parent: text(l.parent)}
	switch l.subtype {
	case "status":
		switch {
		case text(l.status) == "compacting":
			s.Kind = ShowCompacting
		case l.compacted:
			s.Kind = ShowCompacted
		default:
			return nil
		}
	case "compact_boundary":
		s.Kind = ShowCompacted
	case "api_retry":
		r, err := Event{Type: l.kind, Subtype: l.subtype, Raw: raw}.APIRetry()
		if err != nil {
			return nil
		}
		s.Kind, s.Text = ShowRetry, fmt.Sprintf("%s, attempt %d of %d", strings.ReplaceAll(r.Error, "_", " "), r.Attempt, r.MaxRetries)
	case "background_tasks_changed":
		s.Kind = ShowTasks
		_ = eachElement(l.tasks, func([]byte) { s.Tasks++ }) // not an array: none
	default:
		return nil
	}
	return []Shown{s}
}

// isThinking knows thinking and redacted_thinking.
func isThinking(blockType string) bool { return strings.HasSuffix(blockType, "thinking") }

// isToolResult knows tool_result and its variants (mcp_tool_result, web_search_tool_result).
func isToolResult(blockType string) bool { return strings.HasSuffix(blockType, "tool_result") }
