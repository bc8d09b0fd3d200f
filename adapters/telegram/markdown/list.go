package markdown

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const bullet = "• "

// marker returns the bullet or number of a list item, and the check box of a task, which
// replaces a bullet.
func marker(n *ast.List, number int, item ast.Node) string {
	box, isTask := item.AttributeString(taskBox)
	marker := bullet
	if n.IsOrdered() {
		marker = strconv.Itoa(number) + string(rune(n.Marker)) + " "
	} else if isTask {
		marker = ""
	}
	if isTask {
		marker += box.(string) //nolint:forcetypeassert // set by taskTransformer
	}
	return marker
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
	line = line.TrimLeftSpace(reader.Source())
	if line.IsEmpty() && node.Lines().Len() > 1 { // the parser cannot read an empty line before another
		node.Lines().SetSliced(1, node.Lines().Len())
		return
	}
	node.Lines().Set(0, line)
}
