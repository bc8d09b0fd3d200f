package markdown

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
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
	first := item.FirstChild()
	if first == nil {
		return marker
	}
	task, ok := first.FirstChild().(*east.TaskCheckBox)
	if !ok {
		return marker
	}
	if marker == bullet {
		marker = ""
	}
	if task.IsChecked {
		return marker + "☑ "
	}
	return marker + "☐ "
}
