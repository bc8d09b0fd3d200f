package cli

import (
	"strings"

	"github.com/rivo/uniseg"

	"bareclaw/internal/term"
)

// A cell is a text of one line, and how it is coloured; nil for not at all.
type cell struct {
	text  string
	paint func(string) string
}

func text(s string) cell { return cell{text: term.SafeLine(s)} }

func (c cell) painted(p func(string) string) cell { return cell{text: c.text, paint: p} }

// A table is rows of cells in columns. Texts are made harmless by [text].
type table struct {
	rows   [][]cell
	widest []int // of the columns on a terminal, in cells; 0 or none: any width
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// columnGap is what stands between two columns.
const columnGap = "  "

// lines returns the rows of the table, none wider than width. What does not fit is
// cut at the end of its cell.
func (t *table) lines(width int) []string {
	widths := t.widths()
	for i, most := range t.widest {
		if most > 0 && i < len(widths) && width != unlimited {
			widths[i] = min(widths[i], most)
		}
	}
	out := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		var line strings.Builder
		left := width
		for i, c := range row {
			if i > 0 {
				if left <= len(columnGap) {
					break
				}
				line.WriteString(columnGap)
				left -= len(columnGap)
			}
			shown := fit(c.text, min(widths[i], left))
			pad := max(0, min(widths[i], left)-uniseg.StringWidth(shown))
			left -= uniseg.StringWidth(shown) + pad
			if c.paint != nil {
				shown = c.paint(shown)
			}
			line.WriteString(shown)
			line.WriteString(strings.Repeat(" ", pad))
		}
		out = append(out, strings.TrimRight(line.String(), " "))
	}
	return out
}

// leastShare is the least width of a column that shares a line with another one.
const leastShare = 20

// share divides what the other columns leave of a line between the last two. Where that
// is too little for both, the first of them gets all.
func (t *table) share(width int) {
	widths := t.widths()
	first := len(widths) - 2
	if first < 0 || width == unlimited {
		return
	}
	left := width - len(columnGap)*(len(widths)-1)
	for i, w := range widths[:first] {
		if i < len(t.widest) && t.widest[i] > 0 {
			w = min(w, t.widest[i])
		}
		left -= w
	}
	most := max(left/2, left-widths[first+1])
	if left < 2*leastShare {
		most = left + len(columnGap)
	}
	widest := make([]int, first+1)
	copy(widest, t.widest)
	widest[first] = max(most, 1)
	t.widest = widest
}

// widths returns how wide the longest cell of each column is.
func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(c.text))
		}
	}
	return widths
}

// fit returns s, or its beginning and an ellipsis, in at most width cells.
func fit(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	var b strings.Builder
	left := width - 1
	for graphemes := uniseg.NewGraphemes(s); graphemes.Next() && graphemes.Width() <= left; {
		b.WriteString(graphemes.Str())
		left -= graphemes.Width()
	}
	return strings.TrimRight(b.String(), " ") + "…"
}
