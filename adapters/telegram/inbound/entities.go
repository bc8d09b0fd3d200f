package inbound

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/internal/mdtext"

	"github.com/go-telegram/bot/models"
)

// A format is how Markdown shows a kind of entity.
type format struct {
	kind       models.MessageEntityType
	begin, end string // around the text of an inline format; empty for the other formats
}

// formats are the formats kept in Markdown, outer formats first.
var formats = []format{
	{kind: models.MessageEntityTypeBlockquote}, {kind: models.MessageEntityTypeExpandableBlockquote}, {kind: models.MessageEntityTypePre},
	{kind: models.MessageEntityTypeTextLink}, {models.MessageEntityTypeSpoiler, "||", "||"}, {models.MessageEntityTypeUnderline, "<u>", "</u>"},
	{models.MessageEntityTypeStrikethrough, "~~", "~~"}, {models.MessageEntityTypeBold, "**", "**"}, {models.MessageEntityTypeItalic, "*", "*"},
	{kind: models.MessageEntityTypeCode},
}

// rank returns the index of a kind in formats; -1 for a kind that Markdown does not show.
func rank(kind models.MessageEntityType) int {
	return slices.IndexFunc(formats, func(f format) bool { return f.kind == kind })
}

// A span is a part of a text with a format.
type span struct {
	start, end int // byte offsets
	models.MessageEntity
}

// entitiesMarkdown returns a text with entities as Markdown. Unformatted text remains
// unchanged, even text in Markdown syntax: people write Markdown too.
func entitiesMarkdown(text string, entities []models.MessageEntity) string {
	w := &markdownWriter{text: text, lineStart: true}
	w.part(0, len(text), spansOf(text, entities), false)
	return w.String()
}

// spansOf returns the spans of a text by start, outer spans first. A part of an entity beyond
// the text, or inside a character, is cut off.
func spansOf(text string, entities []models.MessageEntity) (spans []span) {
	at := markdown.ByteOffsets(text)
	for _, e := range entities {
		if rank(e.Type) < 0 || e.Offset < 0 || e.Offset >= len(at) || e.Length <= 0 {
			continue
		}
		s := span{at[e.Offset], at[min(e.Offset+min(e.Length, len(at)), len(at)-1)], e}
		if e.Type == models.MessageEntityTypePre || isQuote(e.Type) {
			spans = append(spans, s)
			continue
		}
		spans = append(spans, s.lines(text)...)
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(rank(a.Type), rank(b.Type)))
	})
	return spans
}

func isQuote(kind models.MessageEntityType) bool {
	return kind == models.MessageEntityTypeBlockquote || kind == models.MessageEntityTypeExpandableBlockquote
}

// lines splits an inline format into lines, without the spaces at both ends, beside which
// Markdown would not recognise a mark. Code keeps the spaces.
func (s span) lines(text string) (all []span) {
	for line := range strings.Lines(text[s.start:s.end]) {
		part := strings.TrimSuffix(line, "\n")
		if s.Type != models.MessageEntityTypeCode {
			part = strings.TrimSpace(line)
		}
		if from := s.start + strings.Index(line, part); part != "" {
			all = append(all, span{from, from + len(part), s.MessageEntity})
		}
		s.start += len(line)
	}
	return all
}

type markdownWriter struct {
	strings.Builder
	text      string
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
		w.lineStart, w.ended = r == '\n', false
	}
}

func (w *markdownWriter) endLine() {
	if !w.lineStart {
		w.write("\n")
		w.ended = true
	}
}

// part writes a part of the text with the spans inside. Inside an inline format, part escapes
// the characters that could end the format. Of spans that overlap, the later span ends early.
func (w *markdownWriter) part(start, end int, spans []span, inline bool) {
	for len(spans) > 0 {
		s, n := spans[0], 1
		for n < len(spans) && spans[n].start < s.end {
			spans[n].end = min(spans[n].end, s.end)
			n++
		}
		w.plain(w.text[start:s.start], inline)
		w.span(s, spans[1:n])
		start, spans = s.end, spans[n:]
	}
	w.plain(w.text[start:end], inline)
}

// escaped escapes the characters inside a format that could end the format.
var escaped = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "|", "\\|", "[", "\\[", "]", "\\]", "<", "\\<")

func (w *markdownWriter) plain(text string, inline bool) {
	if w.ended && strings.HasPrefix(text, "\n") {
		text, w.ended = text[1:], false
	}
	if inline {
		text = escaped.Replace(text)
	}
	w.write(text)
}

func (w *markdownWriter) span(s span, inner []span) {
	switch f, text := formats[rank(s.Type)], w.text[s.start:s.end]; {
	case isQuote(s.Type):
		w.quote(s, inner)
	case s.Type == models.MessageEntityTypePre:
		w.codeBlock(text, s.Language)
	case s.Type == models.MessageEntityTypeCode:
		w.write(inlineCode(text))
	default:
		if s.Type == models.MessageEntityTypeTextLink {
			f.begin, f.end = "[", "]("+linkTarget(s.URL)+")"
		}
		w.write(f.begin)
		w.part(s.start, s.end, inner, true)
		w.write(f.end)
	}
}

// quote writes a quotation, and a blank line before the text that follows.
func (w *markdownWriter) quote(s span, inner []span) {
	outermost := !w.quoted
	if outermost {
		w.endLine()
		w.quoted = true
	}
	w.part(s.start, s.end, inner, false)
	if !outermost {
		return
	}
	if s.end < len(w.text) {
		w.endLine()
		w.WriteString("\n")
	}
	w.quoted = false
}

func (w *markdownWriter) codeBlock(text, language string) {
	text = strings.TrimSuffix(text, "\n")
	fence := mdtext.Fence("```", text)
	w.endLine()
	w.write(fence + markdown.LanguageName(language) + "\n" + text + "\n" + fence + "\n")
	w.ended = true
}

func inlineCode(text string) string {
	fence := mdtext.Fence("`", text)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
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
