package messagesapi

import (
	"encoding/json"
	"errors"
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
	Source  *source         `json:"source"`
}

// source is where an image or a document comes from.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// UnmarshalJSON accepts the two forms of the wire.
func (c *content) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	case len(data) > 0 && data[0] == '[':
		return json.Unmarshal(data, (*[]block)(c))
	}
	return errors.New("content: Input should be a valid string or list")
}

// of returns the blocks of one type.
func (c content) of(kind string) []block {
	var found []block
	for _, b := range c {
		if b.Type == kind {
			found = append(found, b)
		}
	}
	return found
}

func (c content) has(kind string) bool {
	return slices.ContainsFunc(c, func(b block) bool { return b.Type == kind })
}

// text joins the text blocks.
func (c content) text(sep string) string {
	var texts []string
	for _, b := range c.of("text") {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, sep)
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
		if m.Role != "user" || !m.Content.has("tool_result") {
			continue
		}
		for _, b := range m.Content.of("tool_result") {
			results = append(results, b.Content.text(""))
		}
		return results
	}
	return nil
}

// images returns the media types of the images in the latest user message.
func (r *request) images() []string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != "user" {
			continue
		}
		var types []string
		for _, b := range m.Content.of("image") {
			if b.Source != nil {
				types = append(types, b.Source.MediaType)
			}
		}
		return types
	}
	return nil
}

// userTexts returns what the user wrote, oldest first.
func (r *request) userTexts() []string {
	var texts []string
	for _, m := range r.Messages {
		for _, b := range m.Content.of("text") {
			if text, ok := written(m.Role, b.Text); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
