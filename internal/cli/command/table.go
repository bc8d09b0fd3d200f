package command

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"bareclaw/internal/term"
	"bareclaw/internal/visible"
)

// A Cell is a text of one line with its colour.
type Cell struct {
	text   string
	colour term.Colour
}

// Text returns the cell of a text from outside. What a terminal may not get is replaced as by
// term.Safe, and the other characters without a glyph become escapes.
func Text(s string) Cell { return Cell{text: visible.Words(term.Safe(s))} }

// RightAligned returns the cell of an ASCII text aligned to the right of a column of width cells.
func RightAligned(s string, width int) Cell {
	return Cell{text: fmt.Sprintf("%*s", width, s)}
}

// Painted returns the cell in a colour.
func (c Cell) Painted(colour term.Colour) Cell { return Cell{c.text, colour} }

// A Table is rows of cells in columns.
type Table struct {
	rows   [][]Cell
	Widest []int // of the columns on a terminal, in cells; 0 or none: any width
	Shared bool  // the last two columns divide the rest of a line between them
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// Head adds a row of names in a colour.
func (t *Table) Head(colour term.Colour, names ...string) {
	row := make([]Cell, len(names))
	for i, name := range names {
		row[i] = Text(name).Painted(colour)
	}
	t.Add(row...)
}

// Facts is a table of names and values.
type Facts struct{ Table }

// Add adds a fact unless the value is empty or 0.
func (f *Facts) Add(name string, value any) {
	if value != 0 {
		f.AddPainted(name, fmt.Sprint(value), "")
	}
}

// AddPainted is Add for a value in a colour.
func (f *Facts) AddPainted(name, value string, colour term.Colour) {
	if value != "" {
		f.Table.Add(Text(name).Painted(term.Faint), Text(value).Painted(colour))
	}
}

const columnGap = "  "

// Lines returns the rows of the table in the palette's colours, each at most width cells
// wide. Longer texts are shortened.
func (t *Table) Lines(colours term.Palette, width int) []string {
	widths := t.widths(width)
	out := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			shown := Fit(c.text, widths[i])
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(shown))
			line.WriteString(colours.Paint(c.colour, shown) + pad + columnGap)
		}
		out = append(out, Fit(strings.TrimRight(line.String(), " "), width))
	}
	return out
}

// leastShare is the least width of a column that shares the rest of a line.
const leastShare = 20

// widths returns the width of each column: of its longest cell, within the bounds that hold
// for a line of limited width.
func (t *Table) widths(width int) []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(c.text))
		}
	}
	if width == Unlimited {
		return widths
	}
	for i, most := range t.Widest[:min(len(t.Widest), len(widths))] {
		if most > 0 {
			widths[i] = min(widths[i], most)
		}
	}
	if first := len(widths) - 2; t.Shared && first >= 0 {
		left := width - len(columnGap)*(first+1)
		for _, w := range widths[:first] {
			left -= w
		}
		most := max(left/2, left-widths[first+1])
		if left < 2*leastShare { // too narrow for both
			most = left + len(columnGap)
		}
		widths[first] = min(widths[first], max(most, 1))
	}
	return widths
}

// Fit returns s, or its beginning and an ellipsis, in at most width cells.
func Fit(s string, width int) string { return ansi.Truncate(s, width, "…") }
