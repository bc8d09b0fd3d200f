package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bareclaw/internal/plainjson"

	"github.com/google/uuid"
)

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

// chat is the message of a user event; its content is a string or blocks.
type chat struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// apiMessage is a model's message as the API gives it.
type apiMessage struct {
	Content    []block `json:"content"`
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Role       string  `json:"role"`
	StopReason *string `json:"stop_reason"`
	Type       string  `json:"type"`
}

// flaw is what distinguishes a message that is no good answer.
type flaw struct {
	kind    string // of an API error
	status  int
	aborted bool
}

// object is for parts of events where the order of fields cannot matter.
type object = map[string]any

// ordered is an event given as names and values in turn, in that order. It matters
// to a reader that looks at the beginning of a line only: in a result "type" comes
// late, after objects that have types of their own.
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
	b, err := plainjson.Marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return append(b, '\n')
}

func (s *session) lifecycle(command, state string) {
	s.emit(ordered{"type", "command_lifecycle", "command_uuid", command, "state", state, "uuid", newID(), "session_id", s.id})
}

// system emits a system event with further fields.
func (s *session) system(subtype string, more ...any) {
	event := append(ordered{"type", "system", "subtype", subtype}, more...)
	s.emit(append(event, "uuid", newID(), "session_id", s.id))
}

// replay gives a user message back when it is taken up.
func (s *session) replay(m *message) {
	s.emit(ordered{"type", "user", "message", chat{"user", m.content}, "session_id", s.id, "parent_tool_use_id", nil, "uuid", m.uuid, "isReplay", true})
}

// refuse reports why a session cannot be had, and returns the exit code.
func refuse(err error, stdout, stderr io.Writer) int {
	fmt.Fprintln(stderr, err)
	if unknown := unknownSession(""); errors.As(err, &unknown) {
		_, _ = stdout.Write(encode(ordered{
			"type", "result", "subtype", "error_during_execution", "is_error", true, "num_turns", 0, "session_id", string(unknown),
			"total_cost_usd", 0, "uuid", newID(), "errors", []string{err.Error()},
		})) // the process ends either way
	}
	return 1
}

func newID() string { return uuid.NewString() }

func ptr[T any](v T) *T { return &v }

// exit ends the process at once, wherever it is.
func (s *session) exit(code int) {
	s.note("exit", "", "")
	os.Exit(code)
}
