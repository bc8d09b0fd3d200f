package claude

import (
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"bareclaw/core"
)

// decode reads what it can of a JSON value into v: a member of another type counts as absent, as
// does everything in a value of another kind. Members have exactly the names of v's, as claude
// reads them, and the last of two wins.
func decode(value []byte, v any) { _ = jsonv2.Unmarshal(value, v, likeClaude) }

// likeClaude is encoding/json, in half the time, with exact names.
var likeClaude = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv2.MatchCaseInsensitiveNames(false))

func decoded[T any](value []byte) (v T) {
	decode(value, &v)
	return v
}

// A count is a whole number. claude writes some counts as fractions.
type count int

// UnmarshalJSON reads a JSON number, 0 for anything else.
func (c *count) UnmarshalJSON(value []byte) error {
	var f float64
	decode(value, &f)
	*c = count(f)
	return nil
}

// A block is one part of a message's content.
type block struct {
	Type      string          `json:"type"` // text, thinking, tool_use, tool_result, …
	Text      string          `json:"text"`
	ID        string          `json:"id"`          // of a tool_use
	Name      string          `json:"name"`        // of a tool_use
	Input     json.RawMessage `json:"input"`       // of a tool_use
	ToolUseID string          `json:"tool_use_id"` // of a tool_result
	IsError   bool            `json:"is_error"`    // of a tool_result
}

// A content is what a message says: blocks, or a string for one block of text.
type content []block

// UnmarshalJSON reads a string or an array of blocks.
func (c *content) UnmarshalJSON(value []byte) error {
	if value[0] == '"' {
		*c = content{{Type: "text", Text: text(value)}}
		return nil
	}
	decode(value, (*[]block)(c))
	return nil
}

// A message is one of the Messages API, in claude's output and transcript.
type message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	StopReason string  `json:"stop_reason"`
	Content    content `json:"content"`
}

// streamed is the API event inside a stream_event.
type streamed struct {
	Type  string `json:"type"`
	Index count  `json:"index"`
	Delta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"delta"`
	Block block `json:"content_block"`
}

// isToolCall recognises tool_use and its variants (mcp_tool_use, server_tool_use).
func isToolCall(blockType string) bool { return strings.HasSuffix(blockType, "tool_use") }

// isToolResult recognises tool_result and its variants (mcp_tool_result,
// web_search_tool_result).
func isToolResult(blockType string) bool { return strings.HasSuffix(blockType, "tool_result") }

// targetBytes bounds ToolTarget, which is for display.
const targetBytes = 200

// ToolTarget returns the object of a tool call for display, if its input names one: a
// command, a path, an address. It has at most 200 bytes.
func ToolTarget(input []byte) string {
	keys := [...]string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "description", "prompt"}
	best, rank := "", len(keys)
	_ = eachField(input, func(key, value []byte) { // no object, no target
		for i, k := range keys[:min(rank+1, len(keys))] { // the last of duplicate keys wins
			if string(key) == k && text(value) != "" {
				best, rank = text(value), i
			}
		}
	})
	best, _ = core.TruncateText(best, targetBytes)
	return best
}

// maxToolTimeout is more than claude lets a tool run.
const maxToolTimeout = 24 * time.Hour

// toolTimeout returns how long a tool call may run by its own input, 0 if unknown: the
// timeout of a Bash call in the foreground.
func toolTimeout(tool string, input []byte) time.Duration {
	if tool != "Bash" {
		return 0
	}
	var in struct {
		Timeout    float64 `json:"timeout"` // in milliseconds
		Background bool    `json:"run_in_background"`
	}
	if decode(input, &in); in.Background || in.Timeout <= 0 {
		return 0
	}
	return time.Duration(min(in.Timeout, float64(maxToolTimeout.Milliseconds()))) * time.Millisecond
}
