package view

import (
	"encoding/json"
	"strings"

	"bareclaw/core"
)

// Summary returns the sender and the text of a message, on one line.
func Summary(m *core.Message) string {
	text := m.Content.Text
	if text == "" {
		text = blocksText(m.Content.Blocks)
	}
	if m.Origin.User != "" {
		text = m.Origin.User + ": " + text
	}
	return Brief(text, 100)
}

// blocksText returns the text of a message's text blocks, and the kinds of the other
// blocks.
func blocksText(blocks []json.RawMessage) string {
	var texts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Type != "text" {
			b.Text = "[" + b.Type + "]"
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, " ")
}
