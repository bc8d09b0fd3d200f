package echoagent

import (
	"bareclaw/internal/humanize"
	"encoding/json"
	"strings"
)

// quotedRunes bounds how much of a message is quoted back.
const quotedRunes = 300

const notice = `I am not Claude. Claude Code is not asked here (there is no "claude" on the PATH, or BARECLAW_AGENT=echo is set), so this is the built-in echo agent: it can only repeat what it was told.

To talk to Claude:
1. npm install -g @anthropic-ai/claude-code
2. run "claude" once in a terminal and log in
3. restart the gateway (set BARECLAW_AGENT=claude if it should never fall back to the echo agent)`

// reply is the answer to any text.
func reply(text string) string {
	text = humanize.Shorten(strings.TrimSpace(withoutPrefix(text)), quotedRunes)
	if text == "" {
		return notice + "\n\nYour message had no text."
	}
	return notice + "\n\nYou said:\n> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// withoutPrefix removes the line about the message's source, meant for claude.
func withoutPrefix(text string) string {
	first, rest, found := strings.Cut(text, "\n")
	if found && strings.HasPrefix(first, "[channel: ") && strings.HasSuffix(first, "]") {
		return rest
	}
	return text
}

// prompt is the message of a user event. Its content is a string or blocks.
type prompt struct {
	Content json.RawMessage `json:"content"`
}

// text returns the texts of the content, joined by newlines.
func (p *prompt) text() string {
	var whole string
	if json.Unmarshal(p.Content, &whole) == nil {
		return whole
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(p.Content, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
