package markdown

import (
	"strings"

	"github.com/go-telegram/bot/models"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"bareclaw/internal/dialect"
)

// Render converts Markdown to a document. Every input is valid; text that is not
// Markdown is shown literally, and a source with hundreds of nested lists is shown
// entirely as plain text. The control sequences of terminals are removed. Render is safe for
// concurrent use.
func Render(source string) Document {
	source = WithoutANSI(source)
	r := &renderer{source: []byte(Clean(source))}
	doc, ok := dialect.Parse(r.source)
	if !ok {
		return Plain(source)
	}
	r.used = dialect.UsedReferences(doc)
	r.blocks(doc, false)
	return r.Document()
}

// RenderWhole renders Markdown for a decision: nobody must allow what is not seen. The document is
// Render's if that shows every letter and digit of the source, in their order, and folds and hides
// nothing. Else it is the source as text, for example because of a link, whose address is not
// shown, a spoiler, or a character reference.
func RenderWhole(source string) Document {
	if d := Render(source); d.isOpen() && lettersOf(d.withLanguages()) == lettersOf(Clean(source)) {
		return d
	}
	return Plain(source)
}

const (
	// maxIndents limits the indentation written per line: lists and quotes may be nested
	// a thousand levels deep around lines of a single character.
	maxIndents = 8
	// Quotes longer than maxQuoteLines or maxQuoteUnits are expandable.
	maxQuoteLines = 8
	maxQuoteUnits = 600
	// rule is the text of a thematic break.
	rule = "──────────"
)

// A renderer writes goldmark's syntax tree to a Builder.
type renderer struct {
	Builder
	source    []byte
	used      map[string]bool // keys of link references
	indents   []string        // prefixes of each line of the current block
	inTable   bool
	plainText bool // links become text
}

// blocks writes the child blocks of a node, separated by blank lines unless tight. A
// list within a list item begins directly below the item's text.
func (r *renderer) blocks(parent ast.Node, tight bool) {
	first := true
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if r.hidden(n) {
			continue
		}
		below := n.Kind() == ast.KindList && parent.Kind() == ast.KindListItem
		if !first {
			r.write(separator(tight || below))
		}
		r.block(n)
		first = false
	}
}

func separator(tight bool) string {
	if tight {
		return "\n"
	}
	return "\n\n"
}

// hidden reports whether a block has no visible output.
func (r *renderer) hidden(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.LinkReferenceDefinition:
		return r.used[dialect.ReferenceKey(n)]
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return isBlank(r.lines(n))
	}
	return false
}

func (r *renderer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		r.codeBlock(string(n.Language(r.source)), r.lines(n))
	case *ast.CodeBlock:
		r.codeBlock("", r.lines(n))
	case *east.Table:
		r.codeBlock("", r.table(n))
	case *ast.Blockquote:
		r.quote(n)
	case *ast.List:
		r.list(n)
	case *ast.Heading:
		r.indent()
		r.styled(n, headingStyles[n.Level]...)
	case *ast.ThematicBreak:
		r.literal(rule)
	case *ast.HTMLBlock:
		html := r.lines(n)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(r.source))
		}
		r.literal(strings.TrimRight(html, "\n"))
	case *ast.LinkReferenceDefinition:
		r.literal(dialect.Reference(n))
	default: // paragraphs
		r.indent()
		r.inlines(n)
	}
}

func (r *renderer) table(n *east.Table) string {
	r.inTable = true
	defer func() { r.inTable = false }()
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.TrimSpace(r.cell(cell)))
		}
		rows = append(rows, cells)
	}
	return alignedTable(rows, n.Alignments)
}

// list writes the items of a list, with indented continuation lines.
func (r *renderer) list(n *ast.List) {
	numbers := dialect.Numbers(n)
	for i, item := 0, n.FirstChild(); item != nil; i, item = i+1, item.NextSibling() {
		if i > 0 {
			r.write(separator(n.IsTight))
		}
		r.indent()
		r.write(dialect.Marker(n, numbers[i], item))
		indent := "  "
		if n.IsOrdered() {
			indent = "   "
		}
		r.indented(indent, func() { r.blocks(item, n.IsTight) })
	}
}

// indent writes the prefixes of a line, at the beginning of a line only.
func (r *renderer) indent() {
	if !r.atLineStart() {
		return
	}
	for _, s := range r.indents[:min(len(r.indents), maxIndents)] {
		r.write(s)
	}
}

// indented calls write with an additional prefix for each line.
func (r *renderer) indented(indent string, write func()) {
	r.indents = append(r.indents, indent)
	write()
	r.indents = r.indents[:len(r.indents)-1]
}

func (r *renderer) newline() {
	r.write("\n")
	r.indent()
}

// literal writes text without interpreting markup.
func (r *renderer) literal(text string) {
	r.indent()
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			r.newline()
		}
		r.write(line)
	}
}

func (r *renderer) lines(n ast.Node) string { return string(n.Lines().Value(r.source)) }

// codeBlock writes a code block, always without indentation.
func (r *renderer) codeBlock(language, text string) {
	r.startLine()
	r.pre(language, text)
}

// headingStyles are the styles of headings by level, the outer style first. Deeper levels are
// italic only.
var headingStyles = [7][]models.MessageEntityType{
	1: {models.MessageEntityTypeUnderline, models.MessageEntityTypeBold},
	2: {models.MessageEntityTypeBold},
	3: {models.MessageEntityTypeItalic, models.MessageEntityTypeBold},
	4: {models.MessageEntityTypeItalic},
	5: {models.MessageEntityTypeItalic},
	6: {models.MessageEntityTypeItalic},
}

// quote writes a quotation. Telegram has no nested quotations, hence each line of a
// nested quotation is prefixed with a mark.
func (r *renderer) quote(n *ast.Blockquote) {
	r.startLine()
	if r.isOpen(models.MessageEntityTypeBlockquote) {
		r.indented("> ", func() { r.blocks(n, false) })
		return
	}
	start := len(r.text)
	r.begin(models.MessageEntity{Type: models.MessageEntityTypeBlockquote})
	outer := r.indents
	r.indents = nil
	r.blocks(n, false)
	r.indents = outer
	text := string(r.text[start:])
	r.endQuote(strings.Count(text, "\n") >= maxQuoteLines || Length(text) > maxQuoteUnits)
}
