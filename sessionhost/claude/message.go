package claude

import (
	"encoding/json"
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

// streamed is the API event inside a stream_event.
type streamed struct {
	kind      string
	index     int
	deltaType string
	deltaText string
	block     Block
}

// decodeStreamed reads the known fields; anything but an object has none.
func decodeStreamed(event []byte) (s streamed) {
	_ = eachField(event, s.member)
	return s
}

func (s *streamed) member(key, value []byte) {
	switch string(key) {
	case "type":
		s.kind = text(value)
	case "index":
		s.index = int(integer(value))
	case "delta":
		_ = eachField(value, s.deltaMember) // no object: a delta without type
	case "content_block":
		_ = eachField(value, s.block.member) // no object: a block without type
	}
}

func (s *streamed) deltaMember(key, value []byte) {
	switch string(key) {
	case "type":
		s.deltaType = text(value)
	case "text":
		s.deltaText = text(value)
	}
}

// isToolCall recognises tool_use and its variants (mcp_tool_use, server_tool_use).
func isToolCall(blockType string) bool { return strings.HasSuffix(blockType, "tool_use") }
