package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"
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

// add queues a text for printing.
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
	if text == "" {
		text = " " // an empty line would not be printed
	}
	p.rows, p.busy = p.rows[n:], true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}
