package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Render returns Markdown as a document. Every input is valid; what is not
// Markdown is shown as it was written, as is a source with lists in lists by the
// hundred. It may be called by several goroutines.
func Render(source string) Document {
	if tooDeep(source) {
		return Plain(source)
	}
	r := &renderer{source: []byte(Clean(source))}
	doc := markdownParser().Parse(text.NewReader(r.source))
	r.findUsed(doc)
	r.blocks(doc, false)
	return r.Document()
}

const (
	// maxIndents bounds what is written before each line: lists and quotes may
	// be nested a thousand times, and a line may be one character.
	maxIndents = 8
	// A longer quote is folded.
	maxQuoteLines = 8
	maxQuoteUnits = 600
	// rule is what a thematic break looks like.
	rule = "──────────"
)

// A renderer writes the tree that goldmark made of a source.
type renderer struct {
	Builder
	source  []byte
	used    map[string]bool // labels of link references
	indents []string        // what each line of the block begins with
}

// findUsed notes which link references the text uses; others are shown.
func (r *renderer) findUsed(doc ast.Node) {
	note := func(ref *ast.ReferenceLink) {
		if ref != nil {
			if r.used == nil {
				r.used = map[string]bool{}
			}
			r.used[util.ToLinkReference(ref.Value)] = true
		}
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			note(n.Reference)
		case *ast.Image:
			note(n.Reference)
		}
		return ast.WalkContinue, nil
	})
}

// blocks writes the blocks in a node, with a blank line between them, or none
// if they are close together. A list within an item begins right below its text.
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

// separator is what is between blocks.
func separator(tight bool) string {
	if tight {
		return "\n"
	}
	return "\n\n"
}

// hidden reports whether nothing is to be seen of a block.
func (r *renderer) hidden(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.LinkReferenceDefinition:
		return r.used[util.ToLinkReference(n.Label)]
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
		r.heading(n)
	case *ast.ThematicBreak:
		r.literal(rule)
	case *ast.HTMLBlock:
		r.literal(strings.TrimRight(r.lines(n)+r.closure(n), "\n"))
	case *ast.LinkReferenceDefinition:
		r.literal(reference(n))
	default: // paragraphs
		r.indent()
		r.inlines(n)
	}
}

// indent writes what each line begins with, at the beginning of one.
func (r *renderer) indent() {
	if !r.atLineStart() {
		return
	}
	for _, s := range r.indents[:min(len(r.indents), maxIndents)] {
		r.write(s)
	}
}

// within writes something in which each line begins with some more.
func (r *renderer) within(indent string, write func()) {
	r.indents = append(r.indents, indent)
	write()
	r.indents = r.indents[:len(r.indents)-1]
}

// newline begins another line of a block.
func (r *renderer) newline() {
	r.write("\n")
	r.indent()
}

// literal writes lines as they are.
func (r *renderer) literal(text string) {
	r.indent()
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			r.newline()
		}
		r.write(line)
	}
}

// lines returns the lines of a block of which nothing is markup.
func (r *renderer) lines(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// closure returns the line that ends a block of HTML, if it has one.
func (r *renderer) closure(n *ast.HTMLBlock) string {
	if !n.HasClosure() {
		return ""
	}
	return string(n.ClosureLine.Value(r.source))
}

// reference returns the definition of a link as it may have been written.
func reference(n *ast.LinkReferenceDefinition) string {
	s := "[" + string(n.Label) + "]: " + string(n.Destination)
	if len(n.Title) > 0 {
		s += ` "` + string(n.Title) + `"`
	}
	return s
}

// codeBlock writes a block of code. Its lines are not indented, wherever it is.
func (r *renderer) codeBlock(language, text string) {
	r.startLine()
	r.pre(language, text)
}

// heading writes a heading: the first three levels are bold, the first underlined
// as well, the third italic as well, and the others are italic.
func (r *renderer) heading(n *ast.Heading) {
	r.indent()
	defer r.restore(r.style)
	switch n.Level {
	case 1:
		r.style.marks |= bold | underline
	case 2:
		r.style.marks |= bold
	case 3:
		r.style.marks |= bold | italic
	default:
		r.style.marks |= italic
	}
	r.inlines(n)
}

// quote writes a quotation. One within another, which Telegram does not have, has
// a mark at each line.
func (r *renderer) quote(n *ast.Blockquote) {
	r.startLine()
	if r.style.quote != 0 {
		r.within("> ", func() { r.blocks(n, false) })
		return
	}
	start, end := len(r.text), r.beginQuote()
	outer := r.indents
	r.indents = nil
	r.blocks(n, false)
	r.indents = outer
	text := string(r.text[start:])
	end(strings.Count(text, "\n") >= maxQuoteLines || Length(text) > maxQuoteUnits)
}
