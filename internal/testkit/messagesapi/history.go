package messagesapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// history is one line per block of the conversation, as the history directive
// reports it. The CLI's own notes are left out.
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
		text, err := json.Marshal(b.Content.text(""))
		if err != nil {
			return ""
		}
		return "tool_result: " + first(string(text), 80)
	case "image":
		return "image"
	}
	return ""
}
