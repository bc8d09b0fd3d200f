package claude

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A Block is one part of a message's content. Raw values alias the event.
type Block struct {
	Type      string // text, thinking, tool_use, tool_result, …
	Text      string
	ID        string          // of a tool_use
	Name      string          // of a tool_use
	Input     json.RawMessage // of a tool_use
	ToolUseID string          // of a tool_result
	Content   json.RawMessage // of a tool_result: a string or blocks
	IsError   bool            // of a tool_result
}

// content decodes the blocks of an assistant or user event. An assistant event has one
// finished block of a model message, or an error in the same shape.
func (e Event) content() (blocks []Block) {
	_ = eachField(e.Raw, func(key, value []byte) { // validated by Decode
		if string(key) == "message" {
			blocks = decodeMessage(value).blocks
		}
	})
	return blocks
}

// message is a message of the Messages API in claude's output and transcript.
type message struct {
	id, model, stopReason string
	blocks                []Block
}

// decodeMessage reads the known fields of a message; an odd shape has none.
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

// decodeBlocks reads content: a string or an array of blocks.
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

// BeginsTool reports whether the event announces a tool call: from here on the turn must
// not run again by itself.
//
// No later sign is early enough. claude runs a tool as soon as its block is complete, while
// the rest of the model's message still streams, and writes the call to the transcript only
// after the message. A claude killed in between leaves a transcript without the call, and
// runs the tool again when the message is resent (measured).
func (e Event) BeginsTool() bool {
	if !bytes.Contains(e.Raw, []byte(`tool_use"`)) { // rules out most events at once
		return false
	}
	switch e.Type {
	case TypeStreamEvent:
		inner := e.stream()
		return inner.kind == "content_block_start" && isToolCall(member(inner.block, "type"))
	case TypeAssistant:
		return slices.ContainsFunc(e.content(), func(b Block) bool { return isToolCall(b.Type) })
	}
	return false
}

// streamed is the API event inside a stream_event.
type streamed struct {
	kind         string
	delta, block []byte
}

func (e Event) stream() (inner streamed) {
	_ = eachField(e.Raw, func(key, value []byte) { // Decode has validated it
		if string(key) == "event" {
			_ = eachField(value, inner.member) // no object: an event without type
		}
	})
	return inner
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

// isToolCall recognises tool_use and its variants (mcp_tool_use, server_tool_use).
func isToolCall(blockType string) bool { return strings.HasSuffix(blockType, "tool_use") }
