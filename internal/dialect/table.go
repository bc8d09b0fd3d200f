package dialect

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A tableTransformer makes tables of paragraphs: a line of cells, a line of dashes, and
// further lines of cells. The text before stays a paragraph.
type tableTransformer struct{}

// Transform implements parser.ParagraphTransformer.
func (tableTransformer) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, source, parent := node.Lines(), reader.Source(), node.Parent()
	for i := 1; i < lines.Len(); i++ {
		line := lines.At(i)
		columns := alignments(string(line.Value(source)))
		if columns == nil || len(cellsOf(lines.At(i-1), source, len(columns)+1)) != len(columns) {
			continue
		}
		table := east.NewTable()
		table.Alignments = columns
		for j := i - 1; j < lines.Len(); j++ {
			if j == i {
				continue
			}
			row := east.NewTableRow(columns)
			for _, segment := range cellsOf(lines.At(j), source, len(columns)) {
				cell := east.NewTableCell()
				cell.Lines().Append(segment)
				row.AppendChild(row, cell)
			}
			table.AppendChild(table, row)
		}
		lines.SetSliced(0, i-1)
		parent.InsertAfter(parent, node, table)
		if lines.Len() == 0 {
			parent.RemoveChild(parent, node)
		}
		return
	}
}

// alignments returns the alignment of each column, by the line below the header of a
// table; nil: the line is no such line.
func alignments(line string) []east.Alignment {
	line = strings.TrimSpace(line)
	if strings.Trim(line, "-") == "" { // the underline of a heading
		return nil
	}
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var out []east.Alignment
	for column := range strings.SplitSeq(line, "|") {
		column = strings.TrimSpace(column)
		dashes, left := strings.CutPrefix(column, ":")
		dashes, right := strings.CutSuffix(dashes, ":")
		switch {
		case dashes == "" || strings.Trim(dashes, "-") != "":
			return nil
		case left && right:
			out = append(out, east.AlignCenter)
		case right:
			out = append(out, east.AlignRight)
		default:
			out = append(out, east.AlignLeft)
		}
	}
	return out
}

// cellsOf returns the cells in a line of a table. Bars after the last of the columns, mostly
// in code, belong to the last cell.
func cellsOf(line text.Segment, source []byte, columns int) []text.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	if line.Start < line.Stop && source[line.Start] == '|' {
		line.Start++
	}
	if line.Start < line.Stop && source[line.Stop-1] == '|' && source[line.Stop-2] != '\\' {
		line.Stop--
	}
	var cells []text.Segment
	add := func(start, stop int) {
		cell := text.NewSegment(start, stop)
		cell = cell.TrimLeftSpace(source)
		cells = append(cells, cell.TrimRightSpace(source))
	}
	start := line.Start
	for i := start; i < line.Stop && len(cells) < columns-1; i++ {
		if source[i] == '|' && source[i-1] != '\\' {
			add(start, i)
			start = i + 1
		}
	}
	for len(cells) == columns-1 && line.Stop > start && strings.IndexByte("| ", source[line.Stop-1]) >= 0 {
		line.Stop-- // empty cells after the last of the columns
	}
	add(start, line.Stop)
	return cells
}
