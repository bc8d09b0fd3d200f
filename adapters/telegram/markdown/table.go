package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
	east "github.com/yuin/goldmark/extension/ast"
)

const (
	columnGap = " | "
	crossing  = "-+-"
	// maxColumn is the maximum width of an aligned column. A longer cell shifts the rest
	// of the row to the right instead of widening every row.
	maxColumn = 40
)

// alignedTable formats rows, the first of them the header, as lines of aligned columns. A cell
// may have several lines.
func alignedTable(rows [][]string, alignments []east.Alignment) string {
	widths := make([]int, len(alignments))
	for _, cells := range rows {
		for i, text := range cells {
			for line := range strings.SplitSeq(text, "\n") {
				widths[i] = max(widths[i], min(uniseg.StringWidth(line), maxColumn))
			}
		}
	}
	var b strings.Builder
	for i, cells := range rows {
		for _, line := range linesOf(cells) {
			for j, c := range line {
				line[j] = align(c, widths[j], alignments[j])
			}
			b.WriteString(strings.TrimRight(strings.Join(line, columnGap), " ") + "\n")
		}
		if i == 0 {
			b.WriteString(underlines(widths))
		}
	}
	return b.String()
}

// linesOf returns the lines of a row: as many as the cell with the most lines has.
func linesOf(cells []string) [][]string {
	var lines [][]string
	for j, c := range cells {
		for i, text := range strings.Split(c, "\n") {
			if i == len(lines) {
				lines = append(lines, make([]string, len(cells)))
			}
			lines[i][j] = strings.TrimSpace(text)
		}
	}
	return lines
}

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
