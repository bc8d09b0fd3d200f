package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"bareclaw/internal/dialect"
)

func (r *renderer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.inline(n)
	}
}

func (r *renderer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		r.write(dialect.TextOf(n, r.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			r.newline()
		}
	case *ast.String:
		r.literal(string(n.Value))
	case *ast.CodeSpan:
		r.code(models.MessageEntity{Type: models.MessageEntityTypeCode}, dialect.CodeOf(n, r.source, r.inTable))
	case *ast.Emphasis:
		if n.Level == 1 {
			r.styled(n, models.MessageEntityTypeItalic)
		} else {
			r.styled(n, models.MessageEntityTypeBold)
		}
	case *east.Strikethrough:
		r.styled(n, models.MessageEntityTypeStrikethrough)
	case *dialect.Spoiler:
		r.styled(n, models.MessageEntityTypeSpoiler)
	case *ast.Link:
		r.linked(n.Destination, n)
	case *ast.Image:
		r.linked(n.Destination, n)
	case *ast.AutoLink:
		r.write(dialect.AutoLink(n, r.source))
	case *ast.RawHTML:
		if r.inTable && dialect.IsLineBreak(n, r.source) {
			r.write("\n")
			return
		}
		r.literal(string(n.Segments.Value(r.source)))
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
	label, address := r.plain(n), dialect.Unescape(destination)
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
func (r *renderer) plain(n ast.Node) string { return strings.ReplaceAll(r.cell(n), "\n", " ") }

// cell returns the content of a node as plain text, on several lines if a cell of a table has
// line breaks.
func (r *renderer) cell(n ast.Node) string {
	plain := renderer{source: r.source, inTable: r.inTable, plainText: true}
	plain.inlines(n)
	return string(plain.text)
}

// link writes a label that links to address. If Telegram would refuse the address, or
// the label is blank, link writes label and address as text. write must write the label,
// given as plain text in label.
func (b *Builder) link(address, label string, write func()) {
	target, ok := linkTarget(address)
	switch {
	case isBlank(label):
		b.write(labelled(label, address))
	case ok:
		b.within(models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: target}, write)
	default:
		write()
		b.write(strings.TrimPrefix(labelled(label, address), label))
	}
}

// labelled formats a label and an address as text.
func labelled(label, address string) string {
	address = strings.TrimPrefix(address, "mailto:")
	switch {
	case address == "" || label == address || strings.HasSuffix(address, "://"+label):
		return label
	case isBlank(label):
		return address
	}
	return label + " (" + address + ")"
}

// maxAddressBytes limits the length of an address, because every message repeats the
// address.
const maxAddressBytes = 2048

// linkParts matches the scheme, the host, the port and the rest of an address. The host has
// at least two nonempty labels. ASCII characters in labels must be letters, digits, hyphens
// or underscores.
var linkParts = sync.OnceValue(func() *regexp.Regexp {
	const label = `(?:[-\w]|[^\x00-\x7F])+`
	return regexp.MustCompile(`(?s)^((?i)https?)://(` + label + `(?:\.` + label + `)+)(?::([0-9]+))?([/?#].*)?$`)
})

// spaces percent-encodes the white space that Clean leaves.
var spaces = strings.NewReplacer(" ", "%20", "\n", "%0A", "\t", "%09")

// linkTarget normalizes an address and reports whether Telegram accepts the result;
// Telegram refuses a whole message for one bad address (check_link in
// td/telegram/LinkManager.cpp). The scheme must be http or https and the host must
// contain a dot. User information before the host is refused, because a user name can
// imitate a host.
func linkTarget(address string) (string, bool) {
	parts := linkParts().FindStringSubmatch(Clean(strings.TrimSpace(address)))
	if parts == nil || strings.ContainsFunc(parts[2], func(c rune) bool { return invisible(c) || c == replacement }) {
		return "", false
	}
	host, port := parts[2], parts[3]
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", false
		}
		host += ":" + port
	}
	target := strings.ToLower(parts[1]) + "://" + host + spaces.Replace(parts[4])
	return target, len(target) <= maxAddressBytes
}
