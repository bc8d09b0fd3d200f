// Package markdown converts Markdown to Telegram messages with formatting that Telegram
// never refuses: plain text, plus entities that mark bold text, links and code by
// offset. Since the text contains no markup, no character can be mistaken for markup,
// and a text can be split anywhere.
//
// A [Document] comes from [Render] (Markdown, such as an answer), [Plain] (literal
// text) or a [Builder] (the gateway's own texts, and file changes by a tool).
// [Document.Split] splits a Document into messages.
//
// The dialect is CommonMark with tables, strikethrough, task lists, bare links and
// ||spoilers||, minus markup that people and models write unintentionally: 2*3*4,
// snake_case_name, __init__ and a lone ~ stay literal. HTML is shown as source. Telegram
// has no headings, lists, rules or tables: headings become bold, underlined, or italic
// by level, lists get bullets and indentation, tables become aligned code.
//
// The rules for entities come from core.telegram.org/bots/api#messageentity and from the
// library beneath the Bot API server (tdlib/td, td/telegram/MessageEntity.cpp). The
// library defines refused and dropped entities and the removed or replaced characters.
package markdown

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// A Document is a text with formatting. Documents returned by this package are valid
// except for the length: entities are sorted, lie within the text, begin and end at
// visible characters (except for the indentation of code), and nest as Telegram
// requires. The zero Document is empty.
type Document struct {
	Text     string
	Entities []models.MessageEntity // offsets and lengths in UTF-16 units
}

// Plain returns text as an unformatted document. Characters that Telegram would refuse,
// remove or replace are treated as in [Builder.Text].
func Plain(text string) Document {
	var b Builder
	return b.Text(text).Document()
}

// Length returns the length of text in UTF-16 units, the unit of all Telegram limits.
func Length(text string) int { return mdtext.Units(text) }

// A span is an entity with byte offsets. The Offset and Length of the entity field are
// meaningless.
type span struct {
	start, end int
	entity     models.MessageEntity
}

func (s span) isPre() bool { return s.entity.Type == models.MessageEntityTypePre }

// nesting returns the position of an entity among entities of the same range: 0
// and 1 are quotations, the outermost.
func nesting(s span) int {
	return slices.Index([]models.MessageEntityType{
		models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote,
		models.MessageEntityTypeBold, models.MessageEntityTypeItalic, models.MessageEntityTypeUnderline, models.MessageEntityTypeStrikethrough, models.MessageEntityTypeSpoiler,
		models.MessageEntityTypeTextLink, models.MessageEntityTypeCode, models.MessageEntityTypePre,
	}, s.entity.Type)
}

// trimSpans trims white space from spans, drops spans without visible text, and sorts by
// start, then longest first, then outer entities first.
func trimSpans(text string, spans []span) []span {
	out := make([]span, 0, len(spans))
	pres := preSpans(spans)
	for _, s := range spans {
		s.start, s.end = trim(text, pres, s.start, s.end)
		if s.start < s.end && !isBlank(text[s.start:s.end]) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(nesting(a), nesting(b)))
	})
	return out
}

// preSpans returns the code blocks among spans, in the order of the text.
func preSpans(spans []span) (pres []span) {
	for _, s := range spans {
		if s.isPre() {
			pres = append(pres, s)
		}
	}
	slices.SortFunc(pres, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return pres
}

// preAt returns the code block that contains an offset.
func preAt(pres []span, at int) (pre span, ok bool) {
	i, _ := slices.BinarySearchFunc(pres, at+1, func(s span, end int) int { return cmp.Compare(s.end, end) })
	if i == len(pres) || pres[i].start > at {
		return span{}, false
	}
	return pres[i], true
}

// trim narrows a range to exclude white space at both ends, as Telegram trims messages.
// The indentation of a code block's first line stays: Telegram trims no further than the
// start of the first entity.
func trim(text string, pres []span, start, end int) (from, to int) {
	end = start + len(strings.TrimRight(text[start:end], " \n"))
	first := end - len(strings.TrimLeft(text[start:end], " \n"))
	if first == end {
		return end, end
	}
	if pre, ok := preAt(pres, first); ok {
		line := start + 1 + strings.LastIndexByte(text[start:first], '\n')
		return max(line, pre.start), end
	}
	return first, end
}

// entities converts sorted spans to entities with offsets in UTF-16 units.
func entities(text string, spans []span) []models.MessageEntity {
	if len(spans) == 0 {
		return nil
	}
	offsets := ByteOffsets(text)
	out := make([]models.MessageEntity, len(spans))
	for i, s := range spans {
		out[i] = s.entity
		out[i].Offset, _ = slices.BinarySearch(offsets, s.start)
		end, _ := slices.BinarySearch(offsets, s.end)
		out[i].Length = end - out[i].Offset
	}
	return out
}

func spansOf(d Document) []span {
	offsets := ByteOffsets(d.Text)
	spans := make([]span, len(d.Entities))
	for i, e := range d.Entities {
		spans[i] = span{offsets[e.Offset], offsets[e.Offset+e.Length], e}
	}
	return spans
}

// ByteOffsets returns the byte offset of each UTF-16 unit of a text, and the length of the
// text. Both units of a surrogate pair have the offset of the character.
func ByteOffsets(text string) []int {
	offsets := make([]int, 0, len(text)+1)
	for i, c := range text {
		for range mdtext.Units(string(c)) {
			offsets = append(offsets, i)
		}
	}
	return append(offsets, len(text))
}

// isOpen reports whether all of the text is in sight: no part must be tapped first, and each
// character has a glyph.
func (d Document) isOpen() bool {
	return d.Text == visible.Prose(d.Text) && !slices.ContainsFunc(d.Entities, func(e models.MessageEntity) bool {
		return e.Type == models.MessageEntityTypeSpoiler || e.Type == models.MessageEntityTypeExpandableBlockquote
	})
}

// withLanguages returns the text with the languages of code blocks, which Telegram shows above
// the code.
func (d Document) withLanguages() string {
	var b strings.Builder
	at := 0
	for _, s := range spansOf(d) {
		if s.isPre() {
			b.WriteString(d.Text[at:s.start] + s.entity.Language)
			at = s.start
		}
	}
	return b.String() + d.Text[at:]
}

// lettersOf returns the letters, with their marks, and the digits of a text.
func lettersOf(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.L, unicode.M, unicode.N) {
			return c
		}
		return -1
	}, text)
}

const replacement = utf8.RuneError

// telegramChanges makes those of Telegram's changes to a text that lose nothing. Telegram
// removes three combining marks, one of them the ring above a letter: decomposed letters with
// a ring, as in file names of macOS, become precomposed letters first.
//
// Telegram's rules: clean_input_string in td/telegram/misc.cpp.
var telegramChanges = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n",
	"a\u030A", "å", "A\u030A", "Å", "u\u030A", "ů", "U\u030A", "Ů", "w\u030A", "ẘ", "y\u030A", "ẙ",
)

// Clean makes visible what Telegram silently removes or replaces (control characters, three
// combining marks), and the characters that can reorder displayed text: they become escapes as
// those of the package visible. Carriage returns and U+2028 and U+2029 become line breaks, bytes
// that are no UTF-8 U+FFFD. Tabs remain.
func Clean(text string) string {
	text = telegramChanges.Replace(text)
	var b strings.Builder
	for _, c := range text {
		if harmful(c) {
			b.WriteString(visible.Escape(c))
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// harmful reports whether Telegram removes or replaces the character c, or c reorders
// text.
func harmful(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c >= 0x7F && c <= 0x9F || c >= '\u2028' && c <= '\u202E' || c >= '\u2066' && c <= '\u2069' ||
		c == '\u030A' || c == '\u0333' || c == '\u033F'
}

// isBlank reports whether text has no visible character. Telegram refuses blank
// messages; invisible covers all of Telegram's list (is_empty_string in
// td/telegram/misc.cpp).
func isBlank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !invisible(c) })
}

func invisible(c rune) bool {
	switch c {
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', '\uFFFC':
		return true // fillers
	}
	return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Variation_Selector, c) ||
		c < ' ' || c == 0x7F || c >= 0xE0000 && c <= 0xE007F // tags
}

// tabStop is the distance of tab stops in code.
const tabStop = 4

// expandTabs replaces tabs with spaces up to the next tab stop, because Telegram
// replaces each tab with a single space.
func expandTabs(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for _, c := range line {
			if c != '\t' {
				out.WriteRune(c)
				column++
				continue
			}
			n := tabStop - column%tabStop
			out.WriteString("    "[:n])
			column += n
		}
	}
	return out.String()
}
