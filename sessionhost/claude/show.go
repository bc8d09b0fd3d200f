package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"bareclaw/core"

	"github.com/google/uuid"
)

// Show returns the content of a claude line for a person, in order; nothing for most lines
// and for other input. The result tells the words of an API error, not Show.
//
// claude sends a block of text twice: streamed in pieces, and whole before the block's end.
// The whole block has no index, but the line's uuid becomes its ID, the same at each
// repetition.
func Show(raw json.RawMessage) []core.DisplayEvent {
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

// shownLine holds the fields for Show. Its values alias the line.
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

func (l *shownLine) stream() []core.DisplayEvent {
	var inner streamed
	index := 0
	_ = eachField(l.event, func(key, value []byte) { // no object: an event without type
		inner.member(key, value)
		if string(key) == "index" {
			index = int(integer(value))
		}
	})
	s := core.DisplayEvent{Message: text(l.messageID), Index: index, Parent: text(l.parent)}
	switch inner.kind {
	case "content_block_delta":
		if member(inner.delta, "type") != "text_delta" {
			return nil
		}
		s.Kind, s.Text = core.DisplayTextDelta, member(inner.delta, "text")
		return []core.DisplayEvent{s}
	case "content_block_start":
		var b Block
		_ = eachField(inner.block, b.member) // no object: a block without type
		switch {
		case b.Type == "text":
			s.Kind = core.DisplayTextBegin
		case isThinking(b.Type):
			s.Kind = core.DisplayThinking
		case isToolCall(b.Type):
			s.Kind, s.ID, s.Tool = core.DisplayTool, b.ID, b.Name
		default:
			return nil
		}
		return []core.DisplayEvent{s}
	}
	return nil
}

func (l *shownLine) assistant(raw []byte) []core.DisplayEvent {
	if l.apiError {
		return nil
	}
	m := decodeMessage(l.message)
	all := make([]core.DisplayEvent, 0, len(m.blocks))
	for i, b := range m.blocks {
		s := core.DisplayEvent{Message: m.id, Parent: text(l.parent)}
		switch {
		case b.Type == "text":
			s.Kind, s.ID, s.Text = core.DisplayText, l.blockID(raw, i), b.Text
		case isThinking(b.Type):
			s.Kind = core.DisplayThinking
		case isToolCall(b.Type):
			s.Kind, s.ID, s.Tool, s.Target, s.Input = core.DisplayTool, b.ID, b.Name, ToolTarget(b.Input), b.Input
		case isToolResult(b.Type): // of a tool run by the API itself
			s.Kind, s.ID, s.IsError = core.DisplayToolEnd, b.ToolUseID, b.IsError
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

// blockID names the i-th block of the line. Lines seen so far have one block and a uuid.
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

// user shows the ends of tool calls: the rest of a user event is no news to a person.
func (l *shownLine) user() []core.DisplayEvent {
	if !bytes.Contains(l.message, []byte(`tool_result"`)) {
		return nil
	}
	var all []core.DisplayEvent
	for _, b := range decodeMessage(l.message).blocks {
		if isToolResult(b.Type) {
			all = append(all, core.DisplayEvent{Kind: core.DisplayToolEnd, ID: b.ToolUseID, IsError: b.IsError, Parent: text(l.parent)})
		}
	}
	return all
}

func (l *shownLine) system(raw []byte) []core.DisplayEvent {
	s := core.DisplayEvent{Parent: text(l.parent)}
	switch l.subtype {
	case "status":
		switch {
		case text(l.status) == "compacting":
			s.Kind = core.DisplayCompacting
		case l.compacted:
			s.Kind = core.DisplayCompacted
		default:
			return nil
		}
	case "compact_boundary":
		s.Kind = core.DisplayCompacted
	case "api_retry":
		r, err := Event{Type: l.kind, Subtype: l.subtype, Raw: raw}.APIRetry()
		if err != nil {
			return nil
		}
		s.Kind, s.Text = core.DisplayRetry, fmt.Sprintf("%s, attempt %d of %d", strings.ReplaceAll(r.Error, "_", " "), r.Attempt, r.MaxRetries)
	case "background_tasks_changed":
		s.Kind = core.DisplayTasks
		_ = eachElement(l.tasks, func([]byte) { s.Tasks++ }) // not an array: none
	default:
		return nil
	}
	return []core.DisplayEvent{s}
}

// isThinking recognises thinking and redacted_thinking.
func isThinking(blockType string) bool { return strings.HasSuffix(blockType, "thinking") }

// isToolResult recognises tool_result and its variants (mcp_tool_result,
// web_search_tool_result).
func isToolResult(blockType string) bool { return strings.HasSuffix(blockType, "tool_result") }
