package telegram

import (
	"strings"

	"bareclaw/adapters/telegram/markdown"
)

// literal writes a text so that it means nothing in Markdown, on one line.
func literal(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code writes a text as code within a line of Markdown.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence == "`" {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}

// brief shortens a text to one line of at most n UTF-16 units.
func brief(text string, n int) string {
	return markdown.Shorten(strings.Join(strings.Fields(text), " "), n)
}
