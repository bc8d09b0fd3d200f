package markdown

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const bullet = "• "

// list writes the items of a list.
func (r *renderer) list(n *ast.List) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item != n.FirstChild() {
			r.write(separator(n.IsTight))
		}
		r.indent()
		r.item(item, marker(n, number), n.IsTight)
		number++
	}
}

// marker returns the bullet or number of a list item.
func marker(n *ast.List, number int) string {
	if n.IsOrdered() {
		return strconv.Itoa(number) + string(rune(n.Marker)) + " "
	}
	return bullet
}

// item writes a list item with indented continuation lines.
func (r *renderer) item(n ast.Node, marker string, tight bool) {
	indent := "   "
	if marker == bullet {
		indent = "  "
	}
	r.write(withBox(marker, n))
	r.indented(indent, func() { r.blocks(n, tight) })
}

// withBox adds the check box of a task to a marker. The box replaces a bullet.
func withBox(marker string, item ast.Node) string {
	box, ok := item.AttributeString(taskBox)
	if !ok {
		return marker
	}
	if marker == bullet {
		marker = ""
	}
	return marker + box.(string) //nolint:forcetypeassert // set by taskTransformer
}

// taskBox is the attribute of list items with the check box of a task.
const taskBox = "box"

// A taskTransformer finds the check boxes of tasks: [ ] or [x] at the beginning of a list
// item.
type taskTransformer struct{}

// Transform implements parser.ParagraphTransformer.
func (taskTransformer) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	item, ok := node.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != node || node.Lines().Len() == 0 {
		return
	}
	line := node.Lines().At(0)
	source := line.Value(reader.Source())
	if len(source) < 3 || source[0] != '[' || source[2] != ']' {
		return
	}
	switch source[1] {
	case ' ':
		item.SetAttributeString(taskBox, "☐ ")
	case 'x', 'X':
		item.SetAttributeString(taskBox, "☑ ")
	default:
		return
	}
	line = line.WithStart(line.Start + 3)
	node.Lines().Set(0, line.TrimLeftSpace(reader.Source()))
}
