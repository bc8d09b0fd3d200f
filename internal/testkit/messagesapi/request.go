package messagesapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// request is the part of a Messages API request that the stand-in reads.
type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	System   content   `json:"system"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; on the wire a bare string is one text block.
type content []block

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content content         `json:"content"`
	Source  struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// UnmarshalJSON accepts the two forms of the wire.
func (c *content) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) > 0 && data[0] == '"':
		*c = content{{Type: "text"}}
		return json.Unmarshal(data, &(*c)[0].Text)
	case len(data) > 0 && data[0] == '[':
		return json.Unmarshal(data, (*[]block)(c))
	}
	return errors.New("content: Input should be a valid string or list")
}

// of returns the blocks of one type.
func (c content) of(kind string) []block {
	return slices.DeleteFunc(slices.Clone([]block(c)), func(b block) bool { return b.Type != kind })
}

func (c content) has(kind string) bool { return len(c.of(kind)) > 0 }

// text joins the text blocks.
func (c content) text(sep string) string {
	var texts []string
	for _, b := range c.of("text") {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, sep)
}

// validate returns the refusal the real API would answer with, or nil. It looks at what comes
// from the gateway, not at what is the CLI's own affair.
func (r *request) validate() *apiError {
	if r.Model == "" || len(r.Messages) == 0 {
		return badRequest("model and messages: Field required")
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if why := b.problem(); why != "" {
				return badRequest("messages.%d.content.%d: %s", i, j, why)
			}
		}
	}
	return nil
}

// problem returns what is wrong with a block. The media types are those of
// platform.claude.com/docs/en/build-with-claude/vision.
func (b block) problem() string {
	switch {
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return "text content blocks must contain non-whitespace text"
	case b.Type != "image":
		return ""
	case b.Source.Type != "base64" || !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, b.Source.MediaType):
		return "image.source: want base64 of 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
	}
	if data, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil || len(data) == 0 {
		return "image.source.base64: invalid base64 data"
	}
	return ""
}

// toolNames lists the offered tools in their order.
func (r *request) toolNames() []string {
	names := make([]string, 0, len(r.Tools))
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

// toolResults returns the results in the latest user message that has any.
func (r *request) toolResults() (results []string) {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" && m.Content.has("tool_result") {
			for _, b := range m.Content.of("tool_result") {
				results = append(results, b.Content.text(""))
			}
			return results
		}
	}
	return nil
}

// images returns the media types of the images in the latest user message.
func (r *request) images() (types []string) {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			for _, b := range m.Content.of("image") {
				types = append(types, b.Source.MediaType)
			}
			return types
		}
	}
	return nil
}

// userTexts returns what the user wrote, oldest first.
func (r *request) userTexts() (texts []string) {
	for _, m := range r.Messages {
		for _, b := range m.Content.of("text") {
			if text, ok := written(m.Role, b.Text); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// history is one line per block of the conversation, as the history directive reports it. The
// CLI's own notes are left out.
func (r *request) history() string {
	var lines strings.Builder
	for i, m := range r.Messages {
		for _, b := range m.Content {
			if line := b.summary(m.Role); line != "" {
				fmt.Fprintf(&lines, "%d %s %s\n", i, m.Role, line)
			}
		}
	}
	return lines.String()
}

func (b block) summary(role string) string {
	switch b.Type {
	case "text":
		text, ok := b.Text, true
		if role != "assistant" {
			text, ok = written(role, b.Text)
		}
		if !ok {
			return ""
		}
		return "text: " + first(text, 80)
	case "tool_use":
		return "tool_use: " + b.Name + " " + first(string(b.Input), 80)
	case "tool_result":
		return "tool_result: " + first(fmt.Sprintf("%q", b.Content.text("")), 80)
	case "image":
		return "image"
	}
	return ""
}

// What the CLI (2.1.329) puts into a conversation by itself, as seen on the wire.
const (
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
	imageNote     = "[Image: source: " // follows an image block
	interruptNote = "[Request interrupted by user"

	// steerOpen and steerClose enclose, in a system message, what the user sent while a turn
	// was running.
	steerOpen  = "The user sent a new message while you were working:\n"
	steerClose = "\n\nThis is how Claude Code surfaces messages"
)

// written returns what the user wrote in one text block, and whether anything is left of it
// when the CLI's own notes are taken out.
func written(role, text string) (string, bool) {
	if _, rest, ok := strings.Cut(text, steerOpen); ok {
		steered, _, _ := strings.Cut(rest, steerClose)
		return strings.TrimSuffix(strings.TrimSpace(steered), reminderClose), true
	}
	text = withoutReminders(text)
	return text, role == "user" && !strings.HasPrefix(text, imageNote) && strings.TrimSpace(text) != ""
}

// withoutReminders takes out the reminders and the blank space after each.
func withoutReminders(text string) string {
	before, rest, ok := strings.Cut(text, reminderOpen)
	_, after, closed := strings.Cut(rest, reminderClose)
	if !ok || !closed {
		return text
	}
	return before + withoutReminders(strings.TrimLeft(after, " \r\n"))
}
