package chat

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"bareclaw/internal/dialect"
	"bareclaw/internal/term"
)

// The styles of Markdown besides those of the package term.
const (
	italic    term.Colour = "3"
	underline term.Colour = "4"
	struck    term.Colour = "9"
)

// minColumns is the least width of what is nested, and minCell that of a table's column: a
// table that needs narrower ones is shown as a list.
const (
	minColumns = 20
	minCell    = 6
)

// markdown formats Markdown in rows of at most width columns. Code begins at the first column
// wherever it stands, so that what is copied is what was written.
func markdown(text string, width int) string {
	doc, ok := dialect.Parse([]byte(text))
	if !ok {
		return strings.Join(wrap(text, width, 0), "\n")
	}
	w := &writer{source: []byte(text), width: width, used: dialect.UsedReferences(doc)}
	var rows []string
	for _, r := range w.blocks(doc, width, false) {
		rows = append(rows, r.text)
	}
	return strings.Join(rows, "\n")
}

// A row is a row of the terminal. Nothing is written before code.
type row struct {
	text string
	code bool
}

func rowsOf(texts []string) []row {
	rows := make([]row, len(texts))
	for i, text := range texts {
		rows[i].text = text
	}
	return rows
}

// indented puts a text before the first row and another before the others.
func indented(rows []row, first, rest string) []row {
	if len(rows) == 0 || rows[0].code {
		rows = slices.Insert(rows, 0, row{})
	}
	before := first
	for i := range rows {
		if !rows[i].code {
			rows[i].text = strings.TrimRight(before+rows[i].text, " ")
		}
		before = rest
	}
	return rows
}

// A writer writes a document in rows.
type writer struct {
	source  []byte
	width   int             // of the terminal
	used    map[string]bool // keys of link references
	inTable bool
}

// blocks returns the rows of a node's blocks, with an empty row between two unless tight. A
// list within an item of a list follows the item's text at once.
func (w *writer) blocks(parent ast.Node, width int, tight bool) (rows []row) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		block := w.block(n, max(minColumns, width))
		if len(block) == 0 {
			continue
		}
		below := n.Kind() == ast.KindList && parent.Kind() == ast.KindListItem
		if len(rows) > 0 && !tight && !below {
			rows = append(rows, row{})
		}
		rows = append(rows, block...)
	}
	return rows
}

func (w *writer) block(n ast.Node, width int) []row {
	switch n := n.(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return w.code(n)
	case *east.Table:
		return rowsOf(w.table(n, width))
	case *ast.Blockquote:
		bar := paint(term.Faint, "│ ")
		return indented(w.blocks(n, width-2, false), bar, bar)
	case *ast.List:
		return w.list(n, width)
	case *ast.Heading:
		style := term.Bold
		if n.Level == 1 {
			style = with(style, underline)
		}
		return rowsOf(wrap(w.inlines(n, style), width, 0))
	case *ast.ThematicBreak:
		return []row{{text: paint(term.Faint, strings.Repeat("─", min(width, 40)))}}
	case *ast.HTMLBlock:
		html := w.lines(n)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(w.source))
		}
		return rowsOf(wrap(paint("", strings.TrimRight(html, "\n")), width, 0))
	case *ast.LinkReferenceDefinition:
		if w.used[dialect.ReferenceKey(n)] {
			return nil
		}
		return rowsOf(wrap(paint("", dialect.Reference(n)), width, 0))
	}
	return rowsOf(wrap(w.inlines(n, ""), width, 0)) // a paragraph
}

func (w *writer) lines(n ast.Node) string { return string(n.Lines().Value(w.source)) }

func (w *writer) code(n ast.Node) (rows []row) {
	text := strings.TrimSuffix(w.lines(n), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range wrapVerbatim(line, w.width, 0) {
			rows = append(rows, row{paint(term.Cyan, part), true})
		}
	}
	return rows
}

func (w *writer) list(n *ast.List, width int) (rows []row) {
	numbers := dialect.Numbers(n)
	for i, item := 0, n.FirstChild(); item != nil; i, item = i+1, item.NextSibling() {
		if i > 0 && !n.IsTight {
			rows = append(rows, row{})
		}
		marker := dialect.Marker(n, numbers[i], item)
		indent := lipgloss.Width(marker)
		rows = append(rows, indented(w.blocks(item, width-indent, n.IsTight), marker, strings.Repeat(" ", indent))...)
	}
	return rows
}

// paint returns a text in a style. A character reference of Markdown can stand for a control
// character, so that each part is made harmless here, behind the parser.
func paint(style term.Colour, text string) string {
	lines := strings.Split(term.Safe(text), "\n")
	for i := range lines {
		lines[i] = term.Palette{On: true}.Paint(style, lines[i])
	}
	return strings.Join(lines, "\n")
}

// with adds a style to another.
func with(style, more term.Colour) term.Colour {
	if style == "" {
		return more
	}
	return style + ";" + more
}

func (w *writer) inlines(parent ast.Node, style term.Colour) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(w.inline(n, style))
	}
	return b.String()
}

func (w *writer) inline(n ast.Node, style term.Colour) string {
	switch n := n.(type) {
	case *ast.Text:
		text := paint(style, dialect.TextOf(n, w.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			text += "\n"
		}
		return text
	case *ast.String:
		return paint(style, string(n.Value))
	case *ast.CodeSpan:
		return paint(with(style, term.Cyan), dialect.CodeOf(n, w.source, w.inTable))
	case *ast.Emphasis:
		if n.Level == 1 {
			return w.inlines(n, with(style, italic))
		}
		return w.inlines(n, with(style, term.Bold))
	case *east.Strikethrough:
		return w.inlines(n, with(style, struck))
	case *dialect.Spoiler: // there is nothing to tap
		return paint(style, "||") + w.inlines(n, style) + paint(style, "||")
	case *ast.Link:
		return w.linked(n, n.Destination, style)
	case *ast.Image:
		return w.linked(n, n.Destination, style)
	case *ast.AutoLink:
		return paint(with(style, underline), dialect.AutoLink(n, w.source))
	case *ast.RawHTML:
		if w.inTable && dialect.IsLineBreak(n, w.source) {
			return "\n"
		}
		return paint(style, string(n.Segments.Value(w.source)))
	}
	return w.inlines(n, style)
}

// linked returns the label of a link with the address behind it, unless the label is the
// address.
func (w *writer) linked(n ast.Node, destination []byte, style term.Colour) string {
	label := w.inlines(n, with(style, underline))
	address := strings.TrimPrefix(dialect.Unescape(destination), "mailto:")
	plain := strings.TrimSpace(w.inlines(n, ""))
	switch {
	case address == "" || plain == address || strings.HasSuffix(address, "://"+plain) && plain != "":
		return label
	case plain == "":
		return paint(with(style, underline), address)
	}
	return label + paint(style, " ("+address+")")
}
