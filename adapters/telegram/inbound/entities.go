package inbound

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// A style is the set of formats of a character.
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

// marks are the Markdown marks of inline styles, outer marks first. The mark of code is
// missing because the mark depends on the text.
var marks = []struct {
	style      style
	begin, end string
}{
	{styleSpoiler, "||", "||"}, {styleUnderline, "<u>", "</u>"}, {styleStrike, "~~", "~~"}, {styleBold, "**", "**"}, {styleItalic, "*", "*"},
}

// A char is a formatted character of a message.
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
		for k := at[e.Offset]; k < at[min(e.Offset+min(e.Length, len(at)), len(at)-1)]; k++ {
			c := &chars[k]
			switch e.Type {
			case models.MessageEntityTypePre:
				c.block = i + 1
			case models.MessageEntityTypeTextLink:
				c.link = i + 1
			default:
				c.style |= styleOf[e.Type]
			}
			styled = styled || c.style != 0 || c.block != 0 || c.link != 0
		}
	}
	return chars, styled
}

// A markdownWriter writes Markdown line by line.
type markdownWriter struct {
	strings.Builder
	entities  []models.MessageEntity
	lineStart bool // the line is empty
	quoted    bool // the lines are quoted
	ended     bool // the line was ended for a block already
}

// write writes a text, and marks the lines if quoted.
func (w *markdownWriter) write(s string) {
	for _, r := range s {
		if w.lineStart && w.quoted {
			w.WriteString("> ")
		}
		w.WriteRune(r)
		w.lineStart = r == '\n'
	}
}

// endLine ends the line where a block begins or ends.
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

// codeBlock writes a block of code.
func (w *markdownWriter) codeBlock(chars []char, language string) {
	text := strings.TrimSuffix(textOf(chars), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	w.endLine()
	w.write(fence + languageName(language) + "\n" + text + "\n" + fence + "\n")
	w.ended = true
}

// line writes a part of a line. A format begins and ends beside a character, not beside
// a space, where Markdown would not recognise the mark.
func (w *markdownWriter) line(chars []char) {
	chars = tight(chars)
	var open []string // end marks of the open formats, outer marks first
	var now char
	for len(chars) > 0 {
		n := 1
		for n < len(chars) && chars[n].style == chars[0].style && chars[n].link == chars[0].link {
			n++
		}
		same := 0
		begins, ends := w.formats(chars[0])
		_, before := w.formats(now)
		for same < len(open) && same < len(ends) && before[same] == ends[same] && chars[0].link == now.link {
			same++
		}
		for k := len(open) - 1; k >= same; k-- {
			w.write(open[k])
		}
		for _, b := range begins[same:] {
			w.write(b)
		}
		w.write(inline(chars[:n]))
		open, now = ends, chars[0]
		chars = chars[n:]
	}
	for k := len(open) - 1; k >= 0; k-- {
		w.write(open[k])
	}
}

// formats returns the begin and end marks of a character, without code.
func (w *markdownWriter) formats(c char) (begins, ends []string) {
	if c.link != 0 {
		begins, ends = append(begins, "["), append(ends, "]("+linkTarget(w.entities[c.link-1].URL)+")")
	}
	for _, m := range marks {
		if c.style&m.style != 0 {
			begins, ends = append(begins, m.begin), append(ends, m.end)
		}
	}
	return begins, ends
}

// tight removes formats from spaces at their beginning and end.
func tight(line []char) []char {
	line = append([]char(nil), line...)
	strip := func(has func(char) bool, remove func(*char)) {
		for i := 0; i < len(line); i++ {
			if !has(line[i]) {
				continue
			}
			end := i
			for end < len(line) && has(line[end]) {
				end++
			}
			from, to := i, end
			for ; from < to && unicode.IsSpace(line[from].r); from++ {
				remove(&line[from])
			}
			for ; to > from && unicode.IsSpace(line[to-1].r); to-- {
				remove(&line[to-1])
			}
			i = end
		}
	}
	for _, m := range marks {
		strip(func(c char) bool { return c.style&m.style != 0 }, func(c *char) { c.style &^= m.style })
	}
	strip(func(c char) bool { return c.link != 0 }, func(c *char) { c.link = 0 })
	return line
}

// special lists the characters escaped inside a format because each could end the
// format.
const special = "\\`*_~|[]<"

// inline returns characters of the same format as Markdown.
func inline(chars []char) string {
	text := textOf(chars)
	if chars[0].style&styleCode != 0 {
		fence := strings.Repeat("`", longestRun(text, '`')+1)
		if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
			text = " " + text + " "
		}
		return fence + text + fence
	}
	if chars[0].style&^styleQuote == 0 && chars[0].link == 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func textOf(chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		b.WriteRune(c.r)
	}
	return b.String()
}

// longestRun returns the length of the longest run of a character.
func longestRun(text string, of rune) (longest int) {
	n := 0
	for _, r := range text {
		if n++; r != of {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// languageName returns the language of a block of code; empty if the name is invalid.
func languageName(name string) string {
	for _, r := range name {
		if r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-_.#", r) {
			return ""
		}
	}
	return name
}

// linkTarget escapes a URL to keep the URL from ending a Markdown link.
func linkTarget(to string) string {
	var b strings.Builder
	for _, r := range to {
		if r <= ' ' || r == 0x7f || strings.ContainsRune("()<>\\", r) || unicode.IsSpace(r) {
			b.WriteString("%" + strings.Join(hexOf(string(r)), "%"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hexOf returns the bytes of a text in hexadecimal.
func hexOf(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = fmt.Sprintf("%02X", s[i])
	}
	return out
}
