package view

import (
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// Status renders a status message: the calls of tools, one on each line, and the current
// activity.
func Status(calls []progress.Line, line string) markdown.Document {
	var b markdown.Builder
	for i, l := range calls {
		if i > 0 {
			b.Text("\n")
		}
		b.Text(callMark(l) + l.String())
	}
	if len(calls) > 0 && line != "" {
		b.Text("\n")
	}
	return b.Italic(line).Document()
}

func callMark(l progress.Line) string {
	mark := "▸ "
	switch {
	case l.IsError:
		mark = "✗ "
	case l.Ended:
		mark = "✓ "
	}
	if l.Sub {
		return "↳ " + mark
	}
	return mark
}

// StopButton returns the button that stops the running turn; none if no turn runs.
func StopButton(v progress.View) [][]Button {
	if v.Phase != progress.Running {
		return nil
	}
	return [][]Button{{{Text: "⏹ Stop", Data: "stop:" + string(v.Turn)}}}
}

// Change renders a change of a file.
func Change(c progress.Change) markdown.Document {
	if c.Old == "" {
		return markdown.Write(c.File, c.New)
	}
	return markdown.Diff(c.File, c.Old, c.New)
}

// Reply renders the outcome of a message as Markdown.
func Reply(r *core.Reply) string {
	var b strings.Builder
	for _, n := range r.Notices {
		b.WriteString("> " + strings.ReplaceAll(n.Text, "\n", "\n> ") + "\n\n")
	}
	text := strings.TrimSpace(r.Text)
	switch r.State {
	case core.Failed:
		b.WriteString("⚠️ ")
	case core.Cancelled:
		b.WriteString("⏹ ")
	default:
		if text == "" {
			text = "*Claude ended this turn without an answer.*"
		}
	}
	b.WriteString(text)
	return b.String()
}
