package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A printer puts texts into the scrollback in their order, one command at a time: Bubble
// Tea (v2.0.10) carries out several in any order. Of what is taller than the screen it
// leaves the prompt and blank rows behind, so that goes in parts.
type printer struct {
	rows   []string // that wait
	busy   bool     // some are being printed
	closed bool     // there will be no more
}

// A printed says that the rows are printed which were last.
type printed struct{}

func (p *printer) done() bool { return !p.busy && len(p.rows) == 0 }

// add has a text printed after those before it.
func (p *printer) add(text string) {
	if !p.closed {
		p.rows = append(p.rows, strings.Split(text, "\n")...)
	}
}

// next prints what waits, as far as it fits into that many rows; nil while others are
// being printed. Half of the rows are for what lives, which may grow meanwhile.
func (p *printer) next(space int) tea.Cmd {
	if p.busy || len(p.rows) == 0 {
		return nil
	}
	n := min(len(p.rows), max(1, space/2))
	text := strings.Join(p.rows[:n], "\n")
	if text == "" {
		text = " " // nothing at all is not printed
	}
	p.rows, p.busy = p.rows[n:], true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}
