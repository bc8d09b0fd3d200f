package claude

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A Block is one piece of a message's content. Its raw values alias the event.
type Block struct {
	Type      string // text, thinking, tool_use, tool_result, …
	Text      string
	Thinking  string
	ID        string          // of a tool_use
	Name      string          // of a tool_use
	Input     json.RawMessage // of a tool_use
	ToolUseID string          // of a tool_result
	Content   json.RawMessage // of a tool_result: a string or blocks
	IsError   bool            // of a tool_result
}

// An Assistant is one finished content block of a model message (several in a
// row have the same MessageID), or an error in the shape of one.
type Assistant struct {
	UUID             string
	MessageID        string
	Model            string
	Content          []Block
	ParentToolUseID  string // of the Task call when a subagent speaks, else ""
	UserMessageUUIDs []string
	Aborted          bool // cut by an interrupt
	IsAPIError       bool
}

// Assistant decodes an assistant event.
func (e Event) Assistant() (Assistant, error) {
	var a Assistant
	err := e.fields(TypeAssistant, func(key, value []byte) {
		switch string(key) {
		case "uuid":
			a.UUID = text(value)
		case "message":
			m := decodeMessage(value)
			a.MessageID, a.Model, a.Content = m.id, m.model, m.blocks
		case "parent_tool_use_id":
			a.ParentToolUseID = text(value)
		case "user_message_uuids":
			a.UserMessageUUIDs = texts(value)
		case "aborted":
			a.Aborted = boolean(value)
		case "is_api_error_message":
			a.IsAPIError = boolean(value)
		}
	})
	return a, err
}

// A UserEcho is a user event: a message of ours coming back when it is taken
// up (IsReplay), tool results, or a text claude wrote to itself (IsSynthetic).
type UserEcho struct {
	UUID            string
	Content         []Block
	ParentToolUseID string
	IsReplay        bool
	IsSynthetic     bool
}

// User decodes a user event.
func (e Event) User() (UserEcho, error) {
	var u UserEcho
	err := e.fields(TypeUser, func(key, value []byte) {
		switch string(key) {
		case "uuid":
			u.UUID = text(value)
		case "message":
			u.Content = decodeMessage(value).blocks
		case "parent_tool_use_id":
			u.ParentToolUseID = text(value)
		case "isReplay":
			u.IsReplay = boolean(value)
		case "isSynthetic":
			u.IsSynthetic = boolean(value)
		}
	})
	return u, err
}

// message is a message of the Messages API as claude prints and stores it.
type message struct {
	id, model, stopReason string
	blocks                []Block
}

// decodeMessage reads what it knows of a message; an odd shape has nothing.
func decodeMessage(raw []byte) message {
	var m message
	_ = eachField(raw, func(key, value []byte) {
		switch string(key) {
		case "id":
			m.id = text(value)
		case "model":
			m.model = text(value)
		case "stop_reason":
			m.stopReason = text(value)
		case "content":
			m.blocks = decodeBlocks(value)
		}
	})
	return m
}

// decodeBlocks reads content, which is a string or an array of blocks.
func decodeBlocks(content []byte) []Block {
	if content[0] == '"' {
		return []Block{{Type: "text", Text: text(content)}}
	}
	var blocks []Block
	_ = eachElement(content, func(element []byte) {
		var b Block
		if eachField(element, b.member) == nil {
			blocks = append(blocks, b)
		}
	})
	return blocks
}

func (b *Block) member(key, value []byte) {
	switch string(key) {
	case "type":
		b.Type = text(value)
	case "text":
		b.Text = text(value)
	case "thinking":
		b.Thinking = text(value)
	case "id":
		b.ID = text(value)
	case "name":
		b.Name = text(value)
	case "input":
		b.Input = value
	case "tool_use_id":
		b.ToolUseID = text(value)
	case "content":
		b.Content = value
	case "is_error":
		b.IsError = boolean(value)
	}
}

// TextDelta returns the piece of text a stream_event adds to the running
// answer. It is "" for every other event and for the words of a subagent.
func (e Event) TextDelta() string {
	if e.Type != TypeStreamEvent {
		return ""
	}
	subagent, inner := e.stream()
	if subagent || inner.kind != "content_block_delta" || member(inner.delta, "type") != "text_delta" {
		return ""
	}
	return member(inner.delta, "text")
}

// BeginsTool reports whether the event announces a tool call: from here on the
// turn must not be run again by itself.
//
// It is the only sign that is early enough. claude runs a tool as soon as its
// block is complete, while the rest of the model's message still streams, and
// writes the call to the transcript only after the message has ended. A claude
// killed in between leaves a transcript without the call, and runs it a second
// time when the message is resent (measured).
func (e Event) BeginsTool() bool {
	if !bytes.Contains(e.Raw, []byte(`tool_use"`)) { // rules out most events at once
		return false
	}
	switch e.Type {
	case TypeStreamEvent:
		_, inner := e.stream()
		return inner.kind == "content_block_start" && isToolCall(member(inner.block, "type"))
	case TypeAssistant:
		a, err := e.Assistant()
		if err != nil {
			return false
		}
		for _, b := range a.Content {
			if isToolCall(b.Type) {
				return true
			}
		}
	}
	return false
}

// streamed is the API event inside a stream_event.
type streamed struct {
	kind         string
	delta, block []byte
}

func (e Event) stream() (subagent bool, inner streamed) {
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		switch string(key) {
		case "event":
			_ = eachField(value, inner.member) // no object: an event without type
		case "parent_tool_use_id":
			subagent = string(value) != "null"
		}
	})
	return subagent, inner
}

func (s *streamed) member(key, value []byte) {
	switch string(key) {
	case "type":
		s.kind = text(value)
	case "delta":
		s.delta = value
	case "content_block":
		s.block = value
	}
}

// isToolCall knows tool_use and its variants (mcp_tool_use, server_tool_use).
func isToolCall(blockType string) bool { return strings.HasSuffix(blockType, "tool_use") }
