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

// inlines writes the inline children of a node.
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
			r.mark(models.MessageEntityTypeItalic, n)
		} else {
			r.mark(models.MessageEntityTypeBold, n)
		}
	case *east.Strikethrough:
		r.mark(models.MessageEntityTypeStrikethrough, n)
	case *spoilerNode:
		r.mark(models.MessageEntityTypeSpoiler, n)
	case *ast.Link:
		r.link(address(n.Destination), r.plain(n), func() { r.inlines(n) })
	case *ast.Image:
		r.image(n)
	case *ast.AutoLink:
		r.write(r.autoLink(n))
	case *ast.RawHTML:
		r.literal(segments(n.Segments, r.source))
	default:
		r.inlines(n)
	}
}

// mark writes the children of n in a style.
func (r *renderer) mark(kind models.MessageEntityType, n ast.Node) {
	r.within(models.MessageEntity{Type: kind}, func() { r.inlines(n) })
}

// image writes an image as a link to the image, or only the alternative text within a
// link.
func (r *renderer) image(n *ast.Image) {
	alt := r.plain(n)
	if r.isOpen(models.MessageEntityTypeTextLink) {
		r.write(alt)
		return
	}
	r.link(address(n.Destination), alt, func() { r.write(alt) })
}

// plain returns the content of a node as plain text, with the addresses of links.
func (r *renderer) plain(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(r.textOf(n))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeSpan:
			b.WriteString(r.codeOf(n))
		case *ast.Link:
			b.WriteString(labelled(r.plain(n), address(n.Destination)))
		case *ast.Image:
			b.WriteString(labelled(r.plain(n), address(n.Destination)))
		case *ast.AutoLink:
			b.WriteString(r.autoLink(n))
		case *ast.RawHTML:
			b.WriteString(segments(n.Segments, r.source))
		default:
			b.WriteString(r.plain(n))
		}
	}
	return b.String()
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

// unescape resolves backslash escapes and character references.
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
