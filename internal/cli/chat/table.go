package chat

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"bareclaw/internal/term"
)

// table returns the rows of a table with aligned columns, as narrow as the terminal needs
// them, or a list of the cells where that is too narrow.
func (w *writer) table(n *east.Table, width int) []string {
	w.inTable = true
	defer func() { w.inTable = false }()
	var cells [][]string
	widths := make([]int, len(n.Alignments))
	style := term.Bold // of the header
	for line := n.FirstChild(); line != nil; line = line.NextSibling() {
		cells = append(cells, w.cells(line, widths, style))
		style = ""
	}
	if !narrowed(widths, width-3*(len(widths)-1)) {
		return listed(cells, width)
	}
	var rows []string
	for i, line := range cells {
		rows = append(rows, beside(line, widths, n.Alignments)...)
		if i == 0 {
			rows = append(rows, ruled(widths))
		}
	}
	return rows
}

// cells returns the cells of a table's line, and widens the columns to hold them.
func (w *writer) cells(line ast.Node, widths []int, style term.Colour) []string {
	cells := make([]string, len(widths))
	i := 0
	for c := line.FirstChild(); c != nil && i < len(cells); c = c.NextSibling() {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(w.inlines(c, style)), "\t", " ")
		widths[i] = max(widths[i], lipgloss.Width(cells[i]), 1)
		i++
	}
	return cells
}

// narrowed makes the widest columns narrower until all fit into width, and reports whether they do.
func narrowed(widths []int, width int) bool {
	total := 0
	for _, n := range widths {
		total += n
	}
	for ; total > width; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= minCell {
			return false
		}
		widths[widest]--
	}
	return true
}

// beside returns a table's line as rows: as many as the cell with the most rows has.
func beside(cells []string, widths []int, alignments []east.Alignment) []string {
	columns, height := make([][]string, len(cells)), 0
	for i, c := range cells {
		columns[i] = strings.Split(lipgloss.Wrap(c, widths[i], ""), "\n")
		height = max(height, len(columns[i]))
	}
	rows := make([]string, height)
	for y := range rows {
		parts := make([]string, len(columns))
		for i, column := range columns {
			text := ""
			if y < len(column) {
				text = strings.TrimSpace(column[y])
			}
			parts[i] = lipgloss.PlaceHorizontal(widths[i], positions[alignments[i]], text)
		}
		rows[y] = strings.TrimRight(strings.Join(parts, paint(term.Faint, " │ ")), " ")
	}
	return rows
}

var positions = map[east.Alignment]lipgloss.Position{east.AlignRight: lipgloss.Right, east.AlignCenter: lipgloss.Center}

// ruled returns the row below the header.
func ruled(widths []int) string {
	lines := make([]string, len(widths))
	for i, n := range widths {
		lines[i] = strings.Repeat("─", n)
	}
	return paint(term.Faint, strings.Join(lines, "─┼─"))
}

// listed returns the cells below one another, each behind its header, and an empty row
// between two lines of the table.
func listed(cells [][]string, width int) (rows []string) {
	if len(cells) == 1 {
		return wrap(strings.Join(cells[0], "\n"), width, 0)
	}
	for i, line := range cells[1:] {
		if i > 0 {
			rows = append(rows, "")
		}
		for j, c := range line {
			rows = append(rows, wrap(cells[0][j]+": "+c, width, 0)...)
		}
	}
	return rows
}
