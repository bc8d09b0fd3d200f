package messagesapi

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// validate returns the refusal the real API would answer with, or nil. It knows
// the shapes a client gets wrong, not the whole schema.
func (r *request) validate() *apiError {
	switch {
	case r.MaxTokens == nil:
		return badRequest("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return badRequest("max_tokens: Input should be greater than or equal to 1")
	}
	return r.validateConversation()
}

// validateConversation checks what counting tokens needs as well.
func (r *request) validateConversation() *apiError {
	switch {
	case r.Model == "":
		return badRequest("model: Field required")
	case len(r.Messages) == 0:
		return badRequest("messages: at least one message is required")
	case r.Messages[0].Role == "assistant":
		return badRequest(`messages: first message must use the "user" role`)
	}
	if err := r.validateTools(); err != nil {
		return err
	}
	for i, m := range r.Messages {
		last := i == len(r.Messages)-1
		if err := m.validate(fmt.Sprintf("messages.%d", i), last); err != nil {
			return err
		}
	}
	return r.validateToolUse()
}

func (r *request) validateTools() *apiError {
	names := map[string]bool{}
	for i, name := range r.toolNames() {
		if !validToolName(name) {
			return badRequest("tools.%d.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if names[name] {
			return badRequest("tools: Tool names must be unique.")
		}
		names[name] = true
	}
	return nil
}

func validToolName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	foreign := func(r rune) bool { return !strings.ContainsRune(allowed, r) }
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, foreign)
}

// validate checks one message by itself. The system role inside a conversation
// is a beta feature the CLI uses.
func (m message) validate(at string, last bool) *apiError {
	switch m.Role {
	case "user", "assistant", "system":
	default:
		return badRequest("%s.role: Input should be 'user', 'assistant' or 'system'", at)
	}
	if len(m.Content) == 0 && (m.Role != "assistant" || !last) {
		return badRequest("%s: all messages must have non-empty content except for the optional final assistant message", at)
	}
	for i, b := range m.Content {
		if err := b.validate(m.Role, fmt.Sprintf("%s.content.%d", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (b block) validate(role, at string) *apiError {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return badRequest("%s: text content blocks must contain non-whitespace text", at)
		}
		return nil
	case "image":
		return b.Source.validateImage(role, at)
	case "tool_use":
		return b.validateToolUse(role, at)
	case "tool_result":
		return b.validateToolResult(role, at)
	case "document", "search_result":
		return onlyFrom("user", role, at, b.Type)
	case "thinking", "redacted_thinking":
		return onlyFrom("assistant", role, at, b.Type)
	}
	return badRequest("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, b.Type)
}

func onlyFrom(want, role, at, kind string) *apiError {
	if role == want {
		return nil
	}
	return badRequest("%s: `%s` blocks can only be in `%s` messages", at, kind, want)
}

func (b block) validateToolUse(role, at string) *apiError {
	switch {
	case role != "assistant":
		return onlyFrom("assistant", role, at, b.Type)
	case b.ID == "":
		return badRequest("%s.tool_use.id: Field required", at)
	case !validToolName(b.Name):
		return badRequest("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", at)
	case !strings.HasPrefix(string(b.Input), "{"):
		return badRequest("%s.tool_use.input: Input should be a valid dictionary", at)
	}
	return nil
}

func (b block) validateToolResult(role, at string) *apiError {
	if role != "user" {
		return onlyFrom("user", role, at, b.Type)
	}
	if b.ToolUseID == "" {
		return badRequest("%s.tool_result.tool_use_id: Field required", at)
	}
	for i, part := range b.Content {
		at := fmt.Sprintf("%s.tool_result.content.%d", at, i)
		switch part.Type {
		case "text", "document", "search_result", "tool_reference":
		case "image":
			if err := part.Source.validateImage(role, at); err != nil {
				return err
			}
		default:
			return badRequest("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, part.Type)
		}
	}
	return nil
}

// validateImage knows the media types of
// platform.claude.com/docs/en/build-with-claude/vision.
func (s *source) validateImage(role, at string) *apiError {
	if role != "user" {
		return onlyFrom("user", role, at, "image")
	}
	if s == nil {
		return badRequest("%s.image.source: Field required", at)
	}
	if s.Type == "url" || s.Type == "file" {
		return nil
	}
	if s.Type != "base64" {
		return badRequest("%s.image.source: Input tag '%s' found using 'type' does not match any of the expected tags", at, s.Type)
	}
	switch s.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		return badRequest("%s.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", at)
	}
	data, err := base64.StdEncoding.DecodeString(s.Data)
	switch {
	case err != nil:
		return badRequest("%s.image.source.base64: invalid base64 data", at)
	case len(data) == 0:
		return badRequest("%s.image.source.base64: image cannot be empty", at)
	}
	return nil
}
