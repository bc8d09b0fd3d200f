package dialect

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// TextOf returns the text of a node, without escapes and character references.
func TextOf(n *ast.Text, source []byte) string {
	if n.IsRaw() {
		return string(n.Value(source))
	}
	return Unescape(n.Segment.Value(source))
}

// CodeOf returns the text of inline code, with line breaks replaced by spaces, and within a
// table without the escapes of bars.
func CodeOf(n *ast.CodeSpan, source []byte, inTable bool) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if inTable {
		code = strings.ReplaceAll(code, `\|`, "|")
	}
	return code
}

// lineBreak matches HTML's line break, the only one that a cell of a table can have.
var lineBreak = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<(?i:br)\s*/?>$`) })

// IsLineBreak reports whether a node is HTML's line break.
func IsLineBreak(n *ast.RawHTML, source []byte) bool {
	return lineBreak().Match(n.Segments.Value(source))
}

// AutoLink returns the address of a bare link as text. The brackets of <std::string>, parsed as an address with an unknown scheme, are kept.
func AutoLink(n *ast.AutoLink, source []byte) string {
	label := string(n.Label(source))
	scheme, _, ok := strings.Cut(strings.ToLower(label), ":")
	if n.AutoLinkType == ast.AutoLinkURL && n.Protocol == nil && ok {
		switch scheme {
		case "http", "https", "ftp", "mailto", "tel", "tg":
		default:
			return "<" + label + ">"
		}
	}
	return label
}

// escape matches backslash escapes and the character references of HTML.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\[[:punct:]]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]*);`)
})

// Unescape replaces backslash escapes and character references by what they stand for.
func Unescape(s []byte) string {
	if !bytes.ContainsAny(s, `\&`) {
		return string(s)
	}
	return escape().ReplaceAllStringFunc(string(s), func(found string) string {
		if found[0] == '\\' {
			return found[1:]
		}
		if c := html.UnescapeString(found); !strings.HasSuffix(c, ";") || found == "&semi;" {
			return c
		}
		return found // no reference, or the abbreviation of a reference
	})
}

// UsedReferences returns the keys of the link references that a document uses. The other
// definitions are text to show.
func UsedReferences(doc ast.Node) map[string]bool {
	used := map[string]bool{}
	_ = ast.Walk(doc, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		var ref *ast.ReferenceLink
		switch n := n.(type) {
		case *ast.Link:
			ref = n.Reference
		case *ast.Image:
			ref = n.Reference
		}
		if ref != nil {
			used[util.ToLinkReference(ref.Value)] = true
		}
		return ast.WalkContinue, nil
	})
	return used
}

// ReferenceKey returns the key of a link reference definition.
func ReferenceKey(n *ast.LinkReferenceDefinition) string { return util.ToLinkReference(n.Label) }

// Reference reconstructs the source of a link reference definition.
func Reference(n *ast.LinkReferenceDefinition) string {
	s := "[" + string(n.Label) + "]: " + string(n.Destination)
	if len(n.Title) > 0 {
		s += ` "` + string(n.Title) + `"`
	}
	return s
}
