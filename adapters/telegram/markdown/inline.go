package markdown

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
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
	case *east.TaskCheckBox: // written by withBox as part of the list marker
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

// codeOf returns the text of inline code, with line breaks replaced by spaces.
func (r *renderer) codeOf(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
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

// unescape resolves backslash escapes and character references.
func unescape(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 && bytes.IndexByte(s, '&') < 0 {
		return string(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
			continue
		case s[i] == '&':
			if c, n := characterReference(s[i:]); n > 0 {
				b.WriteString(c)
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// maxReferenceBytes is the length of the longest character reference of HTML,
// &CounterClockwiseContourIntegral;.
const maxReferenceBytes = 33

// characterReference decodes a character reference at the beginning of s, such as &amp;
// or &#38;, and returns the characters and the length of the reference, or 0.
func characterReference(s []byte) (string, int) {
	end := bytes.IndexByte(s[:min(len(s), maxReferenceBytes)], ';')
	if end < 2 {
		return "", 0
	}
	name := string(s[1:end])
	if name[0] != '#' {
		e, ok := util.LookUpHTML5EntityByName(name)
		if !ok {
			return "", 0
		}
		return string(e.Characters), end + 1
	}
	digits, base, most := name[1:], 10, 7
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base, most = digits[1:], 16, 6
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil || len(digits) > most {
		return "", 0
	}
	c := rune(v)
	if c == 0 || !utf8.ValidRune(c) {
		c = replacement
	}
	return string(c), end + 1
}
