package markdown

import (
	"bytes"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

const (
	columnGap = " | "
	crossing  = "-+-"
	// maxColumn is the maximum width of an aligned column. A longer cell shifts the rest
	// of the row to the right instead of widening every row.
	maxColumn = 40
)

// table formats a table as lines of aligned columns.
func (r *renderer) table(n *east.Table) string {
	var rows [][]string
	widths := make([]int, len(n.Alignments))
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := r.cells(row)
		for i, c := range cells[:min(len(cells), len(widths))] {
			widths[i] = max(widths[i], min(uniseg.StringWidth(c), maxColumn))
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, cells := range rows {
		for j, c := range cells {
			cells[j] = align(c, widths[j], n.Alignments[j])
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, columnGap), " "))
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(underlines(widths))
		}
	}
	return b.String()
}

// cells returns the cells of a row as plain text.
func (r *renderer) cells(row ast.Node) []string {
	var cells []string
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		text := strings.ReplaceAll(Clean(r.plain(cell)), "\t", " ")
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")))
	}
	if more := r.excess(row); more != "" {
		cells[len(cells)-1] += columnGap + more
	}
	return cells
}

// excess returns the source of a row beyond the last column, mostly caused by a | in
// code. GitHub's tables drop the excess.
func (r *renderer) excess(row ast.Node) string {
	last := row.LastChild()
	if last == nil || last.Lines().Len() == 0 {
		return ""
	}
	line, _, _ := bytes.Cut(r.source[last.Lines().At(0).Stop:], []byte("\n"))
	more := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(line)), "|"))
	return strings.ReplaceAll(Clean(strings.TrimSpace(strings.TrimSuffix(more, "|"))), "\t", " ")
}

// align pads a cell with spaces to the given width.
func align(text string, width int, a east.Alignment) string {
	space := max(0, width-uniseg.StringWidth(text))
	left := 0
	switch a {
	case east.AlignRight:
		left = space
	case east.AlignCenter:
		left = space / 2
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", space-left)
}

// underlines returns the line below the table header.
func underlines(widths []int) string {
	lines := make([]string, len(widths))
	for i, w := range widths {
		lines[i] = strings.Repeat("-", max(w, 1))
	}
	return strings.Join(lines, crossing) + "\n"
}
