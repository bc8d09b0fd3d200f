package markdown

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"
)

// A Builder composes a document piece by piece. The zero Builder is empty and ready to
// use. Methods return the Builder for chaining. A Builder is not safe for concurrent
// use.
type Builder struct {
	text   []byte
	spans  []span // ended
	open   []span // outermost first, without an end; a quotation can only be the outermost
	broken bool   // a block ended: the next text begins on a new line
}

// Text adds text literally, without interpreting markup, as Clean shows it. Tabs become
// spaces.
func (b *Builder) Text(text string) *Builder {
	b.write(text)
	return b
}

// Bold adds bold text.
func (b *Builder) Bold(text string) *Builder { return b.marked(models.MessageEntityTypeBold, text) }

// Italic adds italic text.
func (b *Builder) Italic(text string) *Builder { return b.marked(models.MessageEntityTypeItalic, text) }

// Pre adds a code block on separate lines. An empty or invalid language is omitted.
// Blank lines around the code are removed, and tabs become spaces up to the next tab
// stop.
func (b *Builder) Pre(language, text string) *Builder {
	b.startLine()
	b.pre(language, text)
	b.broken = true
	return b
}

// Document returns the composed document. The Builder remains usable.
func (b *Builder) Document() Document {
	text := string(b.text)
	return Document{Text: text, Entities: entities(text, trimSpans(text, b.spans))}
}

func (b *Builder) marked(kind models.MessageEntityType, text string) *Builder {
	b.write("")
	b.within(models.MessageEntity{Type: kind}, func() { b.write(text) })
	return b
}

// within calls write, and formats the text written. An entity within an entity of the same
// type adds nothing.
func (b *Builder) within(e models.MessageEntity, write func()) {
	if b.isOpen(e.Type) {
		write()
		return
	}
	b.begin(e)
	write()
	b.end()
}

func (b *Builder) begin(e models.MessageEntity) {
	b.open = append(b.open, span{start: len(b.text), entity: e})
}

func (b *Builder) end() {
	last := len(b.open) - 1
	s := b.open[last]
	b.open = b.open[:last]
	if s.end = len(b.text); s.end > s.start {
		b.spans = append(b.spans, s)
	}
}

func (b *Builder) endQuote(expandable bool) {
	if expandable {
		b.open[0].entity.Type = models.MessageEntityTypeExpandableBlockquote
	}
	b.end()
}

func (b *Builder) isOpen(kind models.MessageEntityType) bool {
	return slices.ContainsFunc(b.open, func(s span) bool { return s.entity.Type == kind })
}

// startLine ends the current line unless empty.
func (b *Builder) startLine() {
	b.broken = false
	if !b.atLineStart() {
		b.write("\n")
	}
}

func (b *Builder) atLineStart() bool {
	return len(b.text) == 0 || b.text[len(b.text)-1] == '\n'
}

// write adds text in the open entities, cleaned. An empty text only ends the line left
// open by a block.
func (b *Builder) write(text string) {
	if b.broken {
		b.broken = false
		if !strings.HasPrefix(text, "\n") {
			b.text = append(b.text, '\n')
		}
	}
	b.text = append(b.text, strings.ReplaceAll(Clean(text), "\t", " ")...)
}

// code adds text as code. Telegram allows code to be combined only with a quotation
// (core.telegram.org/bots/api#messageentity): other open entities end before the code and
// begin again after. Within a link the text keeps the link and is no code.
func (b *Builder) code(e models.MessageEntity, text string) {
	text = expandTabs(Clean(text))
	if b.isOpen(models.MessageEntityTypeTextLink) {
		b.text = append(b.text, text...)
		return
	}
	outer := 0
	if b.isOpen(models.MessageEntityTypeBlockquote) {
		outer = 1
	}
	interrupted := slices.Clone(b.open[outer:])
	for range interrupted {
		b.end()
	}
	b.begin(e)
	b.text = append(b.text, text...)
	b.end()
	for _, s := range interrupted {
		b.begin(s.entity)
	}
}

// pre adds a code block at the beginning of a line.
func (b *Builder) pre(language, text string) {
	text = expandTabs(Clean(text))
	b.code(models.MessageEntity{Type: models.MessageEntityTypePre, Language: LanguageName(language)}, trimLines(text))
}

// trimLines removes blank lines at the beginning and end of text.
func trimLines(text string) string {
	text = strings.TrimRight(text, " \n")
	rest := strings.TrimLeft(text, " \n")
	return text[1+strings.LastIndexByte(text[:len(text)-len(rest)], '\n'):]
}

var language = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+#.\w]{0,32}$`) })

// LanguageName returns s if s looks like the name of a programming language, otherwise "".
func LanguageName(s string) string {
	if language().MatchString(s) {
		return s
	}
	return ""
}
