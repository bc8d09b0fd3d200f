package inbound

import (
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/view"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"
)

type style uint16

const (
	styleBold style = 1 << iota
	styleItalic
	styleUnderline
	styleStrike
	styleSpoiler
	styleCode
	styleQuote
)

var styleOf = map[models.MessageEntityType]style{
	models.MessageEntityTypeBold: styleBold, models.MessageEntityTypeItalic: styleItalic, models.MessageEntityTypeUnderline: styleUnderline,
	models.MessageEntityTypeStrikethrough: styleStrike, models.MessageEntityTypeSpoiler: styleSpoiler, models.MessageEntityTypeCode: styleCode,
	models.MessageEntityTypeBlockquote: styleQuote, models.MessageEntityTypeExpandableBlockquote: styleQuote,
}

// A mark begins and ends an inline style in Markdown.
type mark struct {
	style      style
	begin, end string
}

// marks are the marks of styles, outer marks first. The mark of code is missing because
// the mark depends on the text.
var marks = []mark{
	{styleSpoiler, "||", "||"}, {styleUnderline, "<u>", "</u>"}, {styleStrike, "~~", "~~"}, {styleBold, "**", "**"}, {styleItalic, "*", "*"},
}

type char struct {
	r     rune
	style style
	link  int // 1 + index of the link entity; 0: none
	block int // 1 + index of the code block entity; 0: none
}

// entitiesMarkdown returns a text with entities as Markdown. Unformatted text remains
// unchanged, even text in Markdown syntax: people write Markdown too.
func entitiesMarkdown(text string, entities []models.MessageEntity) string {
	chars, styled := formatted(text, entities)
	if !styled {
		return text
	}
	w := &markdownWriter{entities: entities, lineStart: true}
	for len(chars) > 0 {
		n := 1
		for n < len(chars) && chars[n].block == chars[0].block && (chars[n].style^chars[0].style)&styleQuote == 0 {
			n++
		}
		w.section(chars[:n])
		chars = chars[n:]
	}
	return w.String()
}

// formatted returns the characters of a text with their formats. Offsets of entities count
// UTF-16 units; a part beyond the text, or inside a character, is cut off.
func formatted(text string, entities []models.MessageEntity) (chars []char, styled bool) {
	var at []int // by unit: index of the character
	for _, r := range text {
		at = append(at, len(chars))
		if r > 0xffff {
			at = append(at, len(chars))
		}
		chars = append(chars, char{r: r})
	}
	at = append(at, len(chars))
	for i, e := range entities {
		if e.Offset < 0 || e.Offset >= len(at) || e.Length <= 0 {
			continue
		}
		part := chars[at[e.Offset]:at[min(e.Offset+min(e.Length, len(at)), len(at)-1)]]
		whole := e.Type == models.MessageEntityTypePre || styleOf[e.Type]&(styleCode|styleQuote) != 0
		for k := range part {
			c := &part[k]
			switch {
			case !whole && !inside(part, k):
				continue
			case e.Type == models.MessageEntityTypePre:
				c.block = i + 1
			case e.Type == models.MessageEntityTypeTextLink:
				c.link = i + 1
			default:
				c.style |= styleOf[e.Type]
			}
			styled = styled || c.style != 0 || c.block != 0 || c.link != 0
		}
	}
	return chars, styled
}

// inside reports whether a character is not among the spaces at the ends of a line, beside which
// Markdown would not recognise a mark.
func inside(chars []char, k int) bool {
	gap := func(i int) bool { return chars[i].r != '\n' && unicode.IsSpace(chars[i].r) }
	first, last := k, k
	for first > 0 && gap(first) {
		first--
	}
	for last < len(chars)-1 && gap(last) {
		last++
	}
	return !unicode.IsSpace(chars[first].r) && !unicode.IsSpace(chars[last].r)
}

type markdownWriter struct {
	strings.Builder
	entities  []models.MessageEntity
	lineStart bool // the line is empty
	quoted    bool // the lines are quoted
	ended     bool // the line was ended for a block already
}

func (w *markdownWriter) write(s string) {
	for _, r := range s {
		if w.lineStart && w.quoted {
			w.WriteString("> ")
		}
		w.WriteRune(r)
		w.lineStart = r == '\n'
	}
}

func (w *markdownWriter) endLine() {
	if !w.lineStart {
		w.write("\n")
		w.ended = true
	}
}

// section writes characters of the same block of code, or of no block, and either all
// quoted or all unquoted.
func (w *markdownWriter) section(chars []char) {
	if quoted := chars[0].style&styleQuote != 0; quoted != w.quoted {
		w.endLine()
		if w.quoted = quoted; !quoted {
			w.write("\n") // separates the quote from the text
		}
	}
	if chars[0].block != 0 {
		w.codeBlock(chars, w.entities[chars[0].block-1].Language)
		return
	}
	if w.ended && chars[0].r == '\n' {
		chars = chars[1:]
	}
	w.ended = false
	for len(chars) > 0 {
		n := 0
		for n < len(chars) && chars[n].r != '\n' {
			n++
		}
		w.line(chars[:n])
		if n < len(chars) {
			w.write("\n")
			n++
		}
		chars = chars[n:]
	}
}

func (w *markdownWriter) codeBlock(chars []char, language string) {
	text := strings.TrimSuffix(textOf(chars), "\n")
	fence := view.Fence("```", text)
	w.endLine()
	w.write(fence + markdown.LanguageName(language) + "\n" + text + "\n" + fence + "\n")
	w.ended = true
}

// line writes a part of a line.
func (w *markdownWriter) line(chars []char) {
	var open []mark // outer marks first
	closeFrom := func(n int) {
		for _, m := range slices.Backward(open[n:]) {
			w.write(m.end)
		}
	}
	for len(chars) > 0 {
		n := 1
		for n < len(chars) && chars[n].style == chars[0].style && chars[n].link == chars[0].link {
			n++
		}
		now, same := w.marks(chars[0]), 0
		for same < min(len(open), len(now)) && open[same] == now[same] {
			same++
		}
		closeFrom(same)
		for _, m := range now[same:] {
			w.write(m.begin)
		}
		w.write(inline(chars[:n]))
		open, chars = now, chars[n:]
	}
	closeFrom(0)
}

// marks returns the marks of a character, without code.
func (w *markdownWriter) marks(c char) (of []mark) {
	if c.link != 0 {
		of = append(of, mark{begin: "[", end: "](" + linkTarget(w.entities[c.link-1].URL) + ")"})
	}
	for _, m := range marks {
		if c.style&m.style != 0 {
			of = append(of, m)
		}
	}
	return of
}

// escaped escapes the characters inside a format that could end the format.
var escaped = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "|", "\\|", "[", "\\[", "]", "\\]", "<", "\\<")

func inline(chars []char) string {
	text := textOf(chars)
	if chars[0].style&styleCode != 0 {
		fence := view.Fence("`", text)
		if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
			text = " " + text + " "
		}
		return fence + text + fence
	}
	if chars[0].style&^styleQuote == 0 && chars[0].link == 0 {
		return text
	}
	return escaped.Replace(text)
}

func textOf(chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		b.WriteRune(c.r)
	}
	return b.String()
}

func linkTarget(to string) string {
	var b strings.Builder
	for _, r := range to {
		if r <= ' ' || r == 0x7f || strings.ContainsRune("()<>\\", r) || unicode.IsSpace(r) {
			b.WriteString(url.PathEscape(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
