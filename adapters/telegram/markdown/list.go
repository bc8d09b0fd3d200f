package markdown

import (
	"strconv"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// list writes a list, one item after the other.
func (r *renderer) list(n *ast.List) {
	number := n.Start
	separator := ""
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		r.write(separator)
		r.indent()
		r.item(item, marker(n, number), n.IsTight)
		number++
		separator = "\n\n"
		if n.IsTight {
			separator = "\n"
		}
	}
}

// marker returns what an item of a list begins with.
func marker(n *ast.List, number int) string {
	if n.IsOrdered() {
		return strconv.Itoa(number) + string(rune(n.Marker)) + " "
	}
	return "• "
}

// item writes an item, its lines indented. A box takes the place of a bullet.
func (r *renderer) item(n ast.Node, marker string, tight bool) {
	indent := "   "
	if marker == "• " {
		indent = "  "
	}
	if marker != "• " || !isTask(n) {
		r.write(marker)
	}
	r.within(indent, func() { r.blocks(n, tight) })
}

// isTask reports whether an item begins with a box to tick.
func isTask(item ast.Node) bool {
	first := item.FirstChild()
	if first == nil {
		return false
	}
	_, ok := first.FirstChild().(*east.TaskCheckBox)
	return ok
}

// box returns a box to tick.
func box(ticked bool) string {
	if ticked {
		return "☑ "
	}
	return "☐ "
}
