package markdown

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

func (r *renderer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.inline(n)
	}
}

func (r *renderer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		r.write(r.textOf(n))
		if n.SoftLineBreak() || n.HardLineBreak() {
			r.newline()
		}
	case *ast.String:
		r.write(string(n.Value))
	case *ast.CodeSpan:
		r.code(models.MessageEntity{Type: models.MessageEntityTypeCode}, r.codeOf(n))
	case *ast.Emphasis:
		if n.Level == 1 {
			r.styled(n, models.MessageEntityTypeItalic)
		} else {
			r.styled(n, models.MessageEntityTypeBold)
		}
	case *east.Strikethrough:
		r.styled(n, models.MessageEntityTypeStrikethrough)
	case *spoilerNode:
		r.styled(n, models.MessageEntityTypeSpoiler)
	case *ast.Link:
		r.linked(n.Destination, n)
	case *ast.Image:
		r.linked(n.Destination, n)
	case *ast.AutoLink:
		r.write(r.autoLink(n))
	case *ast.RawHTML:
		r.literal(segments(n.Segments, r.source))
	default:
		r.inlines(n)
	}
}

// styled writes the children of n in styles, outer styles first.
func (r *renderer) styled(n ast.Node, styles ...models.MessageEntityType) {
	if len(styles) == 0 {
		r.inlines(n)
		return
	}
	r.within(models.MessageEntity{Type: styles[0]}, func() { r.styled(n, styles[1:]...) })
}

// linked writes the children of n as a label that links to the destination. In plain text
// the address follows the label.
func (r *renderer) linked(destination []byte, n ast.Node) {
	label, address := r.plain(n), unescape(destination)
	switch {
	case r.plainText:
		r.write(labelled(label, address))
	case n.Kind() != ast.KindImage:
		r.link(address, label, func() { r.inlines(n) })
	case r.isOpen(models.MessageEntityTypeTextLink):
		r.write(label)
	default:
		r.link(address, label, func() { r.write(label) })
	}
}

// plain returns the content of a node as plain text on one line, with the addresses of
// links.
func (r *renderer) plain(n ast.Node) string {
	plain := renderer{source: r.source, inTable: r.inTable, plainText: true}
	plain.inlines(n)
	return strings.ReplaceAll(string(plain.text), "\n", " ")
}

func (r *renderer) textOf(n *ast.Text) string {
	if n.IsRaw() {
		return string(n.Value(r.source))
	}
	return unescape(n.Segment.Value(r.source))
}

// codeOf returns the text of inline code, with line breaks replaced by spaces, and within a
// table without the escapes of bars.
func (r *renderer) codeOf(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.source))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if r.inTable {
		code = strings.ReplaceAll(code, `\|`, "|")
	}
	return code
}

// autoLink returns an address as text, since Telegram detects addresses in text. The
// brackets of <std::string>, parsed as an address with an unknown scheme, are kept.
func (r *renderer) autoLink(n *ast.AutoLink) string {
	label := string(n.Label(r.source))
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

func segments(s *text.Segments, source []byte) string {
	var b strings.Builder
	for i := range s.Len() {
		segment := s.At(i)
		b.Write(segment.Value(source))
	}
	return b.String()
}

// escape matches backslash escapes and the character references of HTML.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\[[:punct:]]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]*);`)
})

func unescape(s []byte) string {
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
