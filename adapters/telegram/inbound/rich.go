package inbound

import (
	"encoding/json"
	"strings"

	"github.com/go-telegram/bot/models"
)

// richText returns the words of a rich message, as bots write them: a line for each paragraph,
// item and row of a table.
func richText(m *models.RichMessage) string {
	if m == nil {
		return ""
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	var v struct{ Blocks []any }
	_ = json.Unmarshal(raw, &v) // else nothing is left
	return richBlocks(v.Blocks)
}

func richBlocks(blocks []any) string {
	var lines []string
	for _, b := range blocks {
		if m, ok := b.(map[string]any); ok {
			lines = append(lines, richLines(m)...)
		}
	}
	return strings.Join(lines, "\n")
}

// richLines returns the lines of a block. A block without words is named by its type.
func richLines(block map[string]any) (lines []string) {
	add := func(text string) {
		if text != "" {
			lines = append(lines, text)
		}
	}
	for _, member := range []string{"summary", "text", "expression"} {
		add(richWords(block[member]))
	}
	inner, _ := block["blocks"].([]any)
	add(richBlocks(inner))
	items, _ := block["items"].([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		inner, _ := m["blocks"].([]any)
		label, _ := m["label"].(string)
		add(strings.TrimSpace(label + " " + richBlocks(inner)))
	}
	rows, _ := block["cells"].([]any)
	for _, row := range rows {
		cells, _ := row.([]any)
		words := make([]string, len(cells))
		for i, c := range cells {
			words[i] = richWords(c)
		}
		add(strings.Join(words, " | "))
	}
	kind, _ := block["type"].(string)
	switch kind {
	case "photo", "video", "animation", "audio", "document", "voice_note", "map":
		add("(" + strings.ReplaceAll(kind, "_", " ") + ")")
	}
	add(richWords(block["caption"]))
	return lines
}

// richWords returns the words of a text, which is a string, a part with a format, or a list of
// both.
func richWords(text any) string {
	switch t := text.(type) {
	case string:
		return t
	case []any:
		var b strings.Builder
		for _, part := range t {
			b.WriteString(richWords(part))
		}
		return b.String()
	case map[string]any:
		for _, member := range []string{"text", "expression", "alternative_text", "button"} {
			if words := richWords(t[member]); words != "" {
				return words
			}
		}
	}
	return ""
}
