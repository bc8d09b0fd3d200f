package markdown

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const bullet = "• "

// marker returns the bullet or number of a list item, and the check box of a task, which
// replaces a bullet.
func marker(n *ast.List, number int, item ast.Node) string {
	marker, box := bullet, ""
	if first := item.FirstChild(); first != nil {
		if task, ok := first.FirstChild().(*east.TaskCheckBox); ok {
			marker, box = "", "☐ "
			if task.IsChecked {
				box = "☑ "
			}
		}
	}
	if n.IsOrdered() {
		marker = strconv.Itoa(number) + string(rune(n.Marker)) + " "
	}
	return marker + box
}

var taskBox = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[([ xX])\]\s*`) })

// A taskParser parses the check box of a task: [ ] or [x] at the beginning of a list item.
type taskParser struct{}

// Trigger implements parser.InlineParser.
func (taskParser) Trigger() []byte { return []byte("[") }

// Parse implements parser.InlineParser.
func (taskParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	box := taskBox().FindSubmatch(line)
	if box == nil {
		return nil
	}
	block.Advance(len(box[0]))
	return east.NewTaskCheckBox(box[1][0] != ' ')
}
