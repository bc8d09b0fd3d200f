package chat

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"bareclaw/internal/term"
)

// drawn returns what stands before the first row of a line and before the others, and
// how they look. Colours are of the terminal's own sixteen, so that they go with its
// theme.
func (k look) drawn() (first, rest string, style lipgloss.Style) {
	style = lipgloss.NewStyle()
	switch k {
	case asUser:
		return "› ", "  ", style.Bold(true)
	case asTool:
		return "✓ ", "  ", style.Foreground(lipgloss.Green)
	case asFailedTool:
		return "✗ ", "  ", style.Foreground(lipgloss.Red)
	case asQuestion:
		return "? ", "  ", style.Foreground(lipgloss.Yellow)
	case asNote:
		return "· ", "  ", style.Faint(true)
	case asProblem:
		return "! ", "  ", style.Foreground(lipgloss.Red)
	}
	return "", "", style // of claude's own words
}

// render returns a line as the terminal gets it, no wider than width columns. What it
// holds is from outside, and made harmless here. The library leaves colours out only of
// what lives, where a terminal has none, or NO_COLOR is set.
func (l line) render(width int, coloured bool) string {
	first, rest, style := l.look.drawn()
	if !coloured {
		style = lipgloss.NewStyle()
	}
	text := strings.TrimRight(term.Safe(strings.ReplaceAll(l.text, "\r\n", "\n")), " \n\t")
	text = lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), max(1, width-lipgloss.Width(first)), "")
	out := make([]string, 0, strings.Count(text, "\n")+1)
	before := first
	for part := range strings.SplitSeq(text, "\n") {
		out = append(out, style.Render(before+part))
		before = rest
	}
	return strings.Join(out, "\n")
}

// lastOf returns the end of a text that grows, in which the last rows of it are: to wrap
// all of a long one at each word takes too long. It begins at one place for a while, so
// that its rows stay as they are.
func lastOf(text string) string {
	const step = 8 << 10 // more than the rows that are shown
	from := max(0, len(text)/step-1) * step
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
