package chat

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"bareclaw/internal/term"
)

// drawn returns the prefixes of a line's first row and of further rows, and the style.
// Colours are the terminal's own sixteen, to match the terminal's theme.
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
	return "", "", style // claude's own words
}

// render formats a line for the terminal, no wider than width columns. render makes the
// untrusted text harmless. The library drops colours for terminals without colours or with
// NO_COLOR only in live rows; coloured decides for the scrollback.
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

// lastOf returns the end of a growing text, long enough for the last rows shown: wrapping a
// long text at each word takes too long. The start stays in place for a while, to keep the
// rows stable.
func lastOf(text string) string {
	const step = 8 << 10 // more than the shown rows
	from := max(0, len(text)/step-1) * step
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
