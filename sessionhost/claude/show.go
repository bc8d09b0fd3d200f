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
	e, err := Decode(raw)
	if err != nil {
		return nil
	}
	switch e.Type {
	case TypeStreamEvent:
		return e.showStream()
	case TypeAssistant:
		return e.showAssistant()
	case TypeUser:
		return e.showToolEnds()
	case TypeSystem:
		return e.showSystem()
	}
	return nil
}

func (e *Event) showStream() []core.DisplayEvent {
	inner := decoded[streamed](e.stream)
	s := core.DisplayEvent{Message: text(e.apiMessageID), Index: int(inner.Index), Parent: text(e.parent)}
	switch b := inner.Block; {
	case inner.Type == "content_block_delta" && inner.Delta.Type == "text_delta":
		s.Kind, s.Text = core.DisplayTextDelta, inner.Delta.Text
	case inner.Type != "content_block_start":
		return nil
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

func (e *Event) showAssistant() []core.DisplayEvent {
	if e.apiError {
		return nil
	}
	m := decoded[message](e.message)
	all := make([]core.DisplayEvent, 0, len(m.Content))
	for i, b := range m.Content {
		s := core.DisplayEvent{Message: m.ID, Parent: text(e.parent)}
		switch {
		case b.Type == "text":
			s.Kind, s.ID, s.Text = core.DisplayText, e.blockID(i), b.Text
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
func (e *Event) blockID(i int) string {
	id := text(e.uuid)
	if id == "" {
		id = uuid.NewSHA1(uuid.NameSpaceOID, e.Raw).String()
	}
	if i > 0 {
		id = fmt.Sprintf("%s/%d", id, i)
	}
	return id
}

// showToolEnds shows the ends of tool calls: the rest of a user event is no news to a person.
func (e *Event) showToolEnds() (all []core.DisplayEvent) {
	if !bytes.Contains(e.message, []byte(`tool_result"`)) {
		return nil
	}
	for _, b := range decoded[message](e.message).Content {
		if isToolResult(b.Type) {
			all = append(all, core.DisplayEvent{Kind: core.DisplayToolEnd, ID: b.ToolUseID, IsError: b.IsError, Parent: text(e.parent)})
		}
	}
	return all
}

func (e *Event) showSystem() []core.DisplayEvent {
	s := core.DisplayEvent{Parent: text(e.parent)}
	switch {
	case e.Subtype == "status" && text(e.status) == "compacting":
		s.Kind = core.DisplayCompacting
	case e.Subtype == "status" && e.compacted != nil, e.Subtype == "compact_boundary":
		s.Kind = core.DisplayCompacted
	case e.Subtype == "api_retry":
		r := e.APIRetry()
		if r.Attempt == 0 { // an odd shape
			return nil
		}
		s.Kind, s.Text = core.DisplayRetry, fmt.Sprintf("%s, attempt %d of %d", r.Reason, r.Attempt, r.MaxRetries)
	default:
		n, ok := e.BackgroundTasks()
		if !ok {
			return nil
		}
		s.Kind, s.Tasks = core.DisplayTasks, n
	}
	return []core.DisplayEvent{s}
}

// isThinking recognises thinking and redacted_thinking.
func isThinking(blockType string) bool { return strings.HasSuffix(blockType, "thinking") }
