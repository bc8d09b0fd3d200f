package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
)

// The events below keep the field order of the real program where it can
// matter to a reader that looks at the beginning of a line only: in a result
// "type" comes late, after objects that have types of their own.

type lifecycle struct {
	Type    string `json:"type"`
	Command string `json:"command_uuid"`
	State   string `json:"state"`
	UUID    string `json:"uuid"`
	Session string `json:"session_id"`
}

type initEvent struct {
	Type           string   `json:"type"`
	Subtype        string   `json:"subtype"`
	CWD            string   `json:"cwd"`
	Session        string   `json:"session_id"`
	Tools          []string `json:"tools"`
	MCPServers     []string `json:"mcp_servers"`
	Model          string   `json:"model"`
	PermissionMode string   `json:"permissionMode"`
	SlashCommands  []string `json:"slash_commands"`
	APIKeySource   string   `json:"apiKeySource"`
	Version        string   `json:"claude_code_version"`
	OutputStyle    string   `json:"output_style"`
	Capabilities   []string `json:"capabilities"`
	UUID           string   `json:"uuid"`
}

// replay is a user message given back when it is taken up.
type replay struct {
	Type      string  `json:"type"`
	Message   chat    `json:"message"`
	Session   string  `json:"session_id"`
	Parent    *string `json:"parent_tool_use_id"`
	UUID      string  `json:"uuid"`
	Timestamp string  `json:"timestamp,omitempty"`
	IsReplay  bool    `json:"isReplay"`
}

// chat is the message of a user event; its content is a string or blocks.
type chat struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// block is a content block; which fields are set depends on its type.
type block struct {
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Name      string          `json:"name,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
}

// apiMessage is a model's message as the API gives it.
type apiMessage struct {
	Content      []block `json:"content"`
	ID           string  `json:"id"`
	Model        string  `json:"model"`
	Role         string  `json:"role"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Type         string  `json:"type"`
	Usage        usage   `json:"usage"`
}

type usage struct {
	Input  int    `json:"input_tokens"`
	Output int    `json:"output_tokens"`
	Tier   string `json:"service_tier"`
}

type assistantEvent struct {
	Type         string     `json:"type"`
	Message      apiMessage `json:"message"`
	Parent       *string    `json:"parent_tool_use_id"`
	Session      string     `json:"session_id"`
	UUID         string     `json:"uuid"`
	Timestamp    string     `json:"timestamp"`
	Error        string     `json:"error,omitempty"`
	RequestID    string     `json:"request_id,omitempty"`
	IsAPIError   bool       `json:"is_api_error_message,omitempty"`
	APIStatus    int        `json:"api_error_status,omitempty"`
	Aborted      bool       `json:"aborted,omitempty"`
	MessageUUID  string     `json:"user_message_uuid,omitempty"`
	MessageUUIDs []string   `json:"user_message_uuids,omitempty"`
}

// userEvent is a tool's result, or the note of an interruption.
type userEvent struct {
	Type       string  `json:"type"`
	Message    chat    `json:"message"`
	Parent     *string `json:"parent_tool_use_id"`
	Session    string  `json:"session_id"`
	UUID       string  `json:"uuid"`
	Timestamp  string  `json:"timestamp"`
	ToolResult any     `json:"tool_use_result,omitempty"`
}

type streamEvent struct {
	Type    string  `json:"type"`
	Event   any     `json:"event"`
	Session string  `json:"session_id"`
	Parent  *string `json:"parent_tool_use_id"`
	UUID    string  `json:"uuid"`
	Message string  `json:"api_message_id"`
}

type denial struct {
	Tool      string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"tool_input"`
}

type resultEvent struct {
	DurationAPI  int64                `json:"duration_api_ms"`
	StopReason   *string              `json:"stop_reason"`
	Session      string               `json:"session_id"`
	Cost         float64              `json:"total_cost_usd"`
	Usage        usage                `json:"usage"`
	ModelUsage   map[string]usedModel `json:"modelUsage"`
	Since        map[string]usedModel `json:"model_usage_since_last_result"`
	Denials      []denial             `json:"permission_denials"`
	Reason       string               `json:"terminal_reason,omitempty"`
	Origin       *origin              `json:"origin,omitempty"`
	IsError      bool                 `json:"is_error"`
	Turns        int                  `json:"num_turns"`
	Subtype      string               `json:"subtype"`
	APIStatus    json.RawMessage      `json:"api_error_status,omitempty"` // absent in error_* results
	Result       *string              `json:"result,omitempty"`
	Errors       []string             `json:"errors,omitempty"`
	LocalCommand string               `json:"local_command,omitempty"`
	Type         string               `json:"type"`
	Duration     int64                `json:"duration_ms"`
	UUID         string               `json:"uuid"`
	MessageUUID  string               `json:"user_message_uuid,omitempty"`
	MessageUUIDs []string             `json:"user_message_uuids,omitempty"`
	QueuedTurns  int                  `json:"queued_turn_count"`
	Index        int                  `json:"result_index"`
}

type usedModel struct {
	Input  int     `json:"inputTokens"`
	Output int     `json:"outputTokens"`
	Cost   float64 `json:"costUSD"`
}

type origin struct {
	Kind     string `json:"kind"`
	Producer string `json:"producer"`
	RunID    string `json:"runId"`
}

// object is for parts of events where the order of fields cannot matter.
type object = map[string]any

// ordered is an event given as names and values in turn, in that order.
type ordered []any

// MarshalJSON renders the fields in order.
func (o ordered) MarshalJSON() ([]byte, error) { //nolint:unparam // the interface wants an error
	out := []byte{'{'}
	for i, v := range o {
		out = append(out, bytes.TrimSpace(encode(v))...)
		out = append(out, ":,"[i%2])
	}
	out[len(out)-1] = '}'
	return out, nil
}

// exitBroken is the exit code when this program itself cannot go on.
const exitBroken = 70

// emit writes one event with a single write. The process ends if nobody reads.
func (s *session) emit(event any) {
	if _, err := s.stdout.Write(encode(event)); err != nil {
		fmt.Fprintln(s.stderr, "fakeclaude: write stdout:", err)
		s.exit(exitBroken)
	}
}

// encode renders one line the way JavaScript does: no HTML escapes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types always encode
	}
	return b.Bytes()
}

func (s *session) lifecycle(command, state string) {
	if command != "" {
		s.emit(lifecycle{"command_lifecycle", command, state, newID(), s.id})
	}
}

// system emits a system event with further fields.
func (s *session) system(subtype string, more ordered) {
	event := append(ordered{"type", "system", "subtype", subtype}, more...)
	s.emit(append(event, "uuid", newID(), "session_id", s.id))
}

// refuse reports why a session cannot be had, and returns the exit code.
func refuse(err error, stdout, stderr io.Writer) int {
	fmt.Fprintln(stderr, err)
	if unknown := unknownSession(""); errors.As(err, &unknown) {
		_, _ = stdout.Write(encode(ordered{
			"type", "result", "subtype", "error_during_execution", "duration_ms", 0, "duration_api_ms", 0, "is_error", true,
			"num_turns", 0, "stop_reason", nil, "session_id", string(unknown), "total_cost_usd", 0, "usage", object{}, "modelUsage", object{},
			"permission_denials", []denial{}, "uuid", newID(), "errors", []string{err.Error()}, "result_index", 0,
		})) // the process ends either way
	}
	return 1
}

func newID() string { return uuid.NewString() }

func ptr[T any](v T) *T { return &v }

// exit ends the process at once, wherever it is.
func (s *session) exit(code int) {
	s.log.note("exit", "", "")
	os.Exit(code)
}
