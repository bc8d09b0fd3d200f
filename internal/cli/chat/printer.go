package chat

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"bareclaw/internal/term"
)

// A printer prints texts to the scrollback in order, with a single command at a time: Bubble
// Tea (v2.0.10) runs concurrent commands in any order. Printing more rows than fit on the
// screen leaves the prompt and blank rows behind, so long texts are printed in parts.
type printer struct {
	rows   []string // rows waiting to be printed
	busy   bool     // a print is in progress
	closed bool     // no more rows are accepted
}

// A printed reports that the last command's rows are printed.
type printed struct{}

func (p *printer) done() bool { return !p.busy && len(p.rows) == 0 }

func (p *printer) add(text string) {
	if !p.closed {
		p.rows = append(p.rows, strings.Split(text, "\n")...)
	}
}

// next prints as many waiting rows as fit into half of space; nil while a print is in
// progress. The remaining half is left for the live rows, which may grow in the meantime.
func (p *printer) next(space int) tea.Cmd {
	if p.busy || len(p.rows) == 0 {
		return nil
	}
	n := min(len(p.rows), max(1, space/2))
	text := strings.Join(p.rows[:n], "\n")
	text = cmp.Or(text, " ") // an empty line would not be printed
	p.rows, p.busy = p.rows[n:], true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}

// shrinkAfter is how long fewer rows must suffice before the live rows shrink: some frames.
const shrinkAfter = 100 * time.Millisecond

// A live is the height of the rows below the scrollback. Bubble Tea (v2.0.10) leaves a row
// behind for good if the cursor was below the last row of a smaller frame. Therefore
// superfluous rows are first drawn empty below the prompt, and removed after the next frame.
type live struct {
	rows   int // number of drawn rows
	wanted int // number of needed rows
	change int // number of changes of wanted
}

// A shrink asks to remove superfluous rows if live.change is still the value of the shrink.
type shrink int

func (l *live) fit(rows int) tea.Cmd {
	if rows == l.wanted {
		return nil
	}
	l.wanted = rows
	l.change++
	if rows >= l.rows {
		l.rows = rows
		return nil
	}
	now := shrink(l.change)
	return tea.Tick(shrinkAfter, func(time.Time) tea.Msg { return now })
}

// shrink removes superfluous rows unless wanted has changed in the meantime.
func (l *live) shrink(then shrink) {
	if int(then) == l.change {
		l.rows = l.wanted
	}
}

func (l *live) fill(content string) string {
	return content + strings.Repeat("\n", max(0, l.rows-l.wanted))
}

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
	case asGateway:
		return "· ", "  ", style
	case asChoices:
		return "  ", "  ", style.Faint(true)
	case asProblem:
		return "! ", "  ", style.Foreground(lipgloss.Red)
	}
	return "", "", style // claude's own words
}

// render formats a line for the terminal, no wider than width columns. render makes the
// untrusted text harmless. The library drops colours for terminals without colours or with
// NO_COLOR only in live rows; coloured decides for the scrollback, and whether the Markdown
// of claude is shown as it is written.
func (l line) render(width int, coloured bool) string {
	first, rest, style := l.look.drawn()
	if !coloured {
		style = lipgloss.NewStyle()
	}
	text := strings.TrimRight(term.Safe(strings.ReplaceAll(l.text, "\r\n", "\n")), " \n\t")
	switch {
	case l.look == asClaude && coloured:
		return markdown(text, width)
	case l.look == asGateway:
		return gatewayText(text, first, rest, width, coloured)
	}
	style = style.TabWidth(lipgloss.NoTabConversion)
	out := make([]string, 0, strings.Count(text, "\n")+1)
	before := first
	for _, part := range wrap(text, width, lipgloss.Width(first)) {
		out = append(out, style.Render(before+part))
		before = rest
	}
	return strings.Join(out, "\n")
}

// gatewayText formats Markdown of the gateway, whose words of others are escaped: it is readable as
// formatted text alone.
func gatewayText(text, first, rest string, width int, coloured bool) string {
	text = markdown(text, width-lipgloss.Width(first))
	if !coloured {
		text = ansi.Strip(text)
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+rest)
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

// fenceBefore returns the fence of code that is open where a text ends, as a line; empty
// outside of code.
func fenceBefore(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(fence) >= 3:
			open = fence
		case open != "" && line == fence && len(fence) >= len(open):
			open = ""
		}
	}
	if open == "" {
		return ""
	}
	return open + "\n"
}
