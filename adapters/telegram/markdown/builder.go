package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Builder composes a document piece by piece. The zero Builder is empty and ready to
// use. Methods return the Builder for chaining. A Builder is not safe for concurrent
// use.
type Builder struct {
	text   []byte
	runs   []run
	style  style // style of the next text
	broken bool  // a block ended: the next text begins on a new line

	links  []string // addresses, numbered from 1
	codes  []code   // numbered from 1
	quotes []bool   // whether expandable, numbered from 1
}

// A run is a piece of text in a single style, starting at the end of the previous run.
type run struct {
	end   int // byte offset
	style style
}

// A style is the complete formatting of a piece of text. Numbers count from 1, 0 meaning
// none; adjacent links or codes have different numbers.
type style struct {
	marks marks
	link  int
	code  int
	quote int
}

// marks is a bit set of the styles that combine freely.
type marks uint8

const (
	bold marks = 1 << iota
	italic
	underline
	strikethrough
	spoiler
)

// A code is inline code or a code block.
type code struct {
	block    bool
	language string // code blocks only
}

// Text adds text literally, without interpreting markup. Invalid UTF-8, control
// characters and bidirectional controls become U+FFFD, line separators become line
// breaks, tabs become spaces.
func (b *Builder) Text(text string) *Builder {
	b.write(text)
	return b
}

// Bold adds bold text.
func (b *Builder) Bold(text string) *Builder { return b.marked(bold, text) }

// Italic adds italic text.
func (b *Builder) Italic(text string) *Builder { return b.marked(italic, text) }

// Code adds inline code.
func (b *Builder) Code(text string) *Builder {
	b.write("")
	b.inCode(code{}, text)
	return b
}

// Pre adds a code block on separate lines. An empty or invalid language is omitted.
// Blank lines around the code are removed, and tabs become spaces up to the next tab
// stop.
func (b *Builder) Pre(language, text string) *Builder {
	b.startLine()
	b.pre(language, text)
	b.broken = true
	return b
}

// Quote adds a quotation on separate lines. An expandable quotation shows only the first
// lines until tapped.
func (b *Builder) Quote(expandable bool, text string) *Builder {
	b.startLine()
	end := b.beginQuote()
	b.write(text)
	end(expandable)
	b.broken = true
	return b
}

// Link adds a label that links to address. If Telegram would refuse the address, the
// address is added as text after the label.
func (b *Builder) Link(label, address string) *Builder {
	b.write("")
	b.link(address, label, func() { b.write(label) })
	return b
}

// Add appends another document. A quotation or code block at the beginning or end of d
// is put on separate lines.
func (b *Builder) Add(d Document) *Builder {
	pieces := stylesOf(d, b)
	if len(pieces) == 0 {
		return b
	}
	if b.isBlock(pieces[0].style) {
		b.startLine()
	}
	b.write("")
	at := 0
	for _, piece := range pieces {
		b.put(piece.style, d.Text[at:piece.end])
		at = piece.end
	}
	b.broken = b.isBlock(pieces[len(pieces)-1].style)
	return b
}

func (b *Builder) isBlock(s style) bool {
	return s.quote != 0 || s.code != 0 && b.codes[s.code-1].block
}

// Document returns the composed document. The Builder remains usable.
func (b *Builder) Document() Document {
	text := string(b.text)
	return Document{Text: text, Entities: entities(text, b.spans(text))}
}

func (b *Builder) marked(m marks, text string) *Builder {
	b.write("")
	defer b.restore(b.style)
	b.style.marks |= m
	b.write(text)
	return b
}

// restore resets the style, for use as defer b.restore(b.style).
func (b *Builder) restore(s style) { b.style = s }

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

// write adds text in the current style, cleaned. An empty text only ends the line left
// open by a block.
func (b *Builder) write(text string) {
	if b.broken {
		b.broken = false
		if !strings.HasPrefix(text, "\n") {
			b.put(b.style, "\n")
		}
	}
	if text == "" {
		return
	}
	text = Clean(text)
	if strings.Contains(text, "\t") {
		text = strings.ReplaceAll(text, "\t", " ")
	}
	b.put(b.style, text)
}

// put adds clean text in style s.
func (b *Builder) put(s style, text string) {
	if text == "" {
		return
	}
	b.text = append(b.text, text...)
	if n := len(b.runs); n > 0 && b.runs[n-1].style == s {
		b.runs[n-1].end = len(b.text)
		return
	}
	b.runs = append(b.runs, run{len(b.text), s})
}

// inCode adds text as code. Telegram allows code to be combined only with a quotation
// (core.telegram.org/bots/api#messageentity); within a link the text keeps the link and
// loses the code.
func (b *Builder) inCode(c code, text string) {
	text = expandTabs(Clean(text))
	if b.style.link != 0 {
		b.put(b.style, text)
		return
	}
	b.codes = append(b.codes, c)
	b.put(style{code: len(b.codes), quote: b.style.quote}, text)
}

// pre adds a code block at the beginning of a line.
func (b *Builder) pre(language, text string) {
	text = expandTabs(Clean(text))
	b.inCode(code{block: true, language: languageName(language)}, trimLines(text))
}

// beginQuote begins a quotation and returns the function that ends the quotation. Within
// a quotation beginQuote does nothing, because quotations cannot be nested.
func (b *Builder) beginQuote() (end func(expandable bool)) {
	if b.style.quote != 0 {
		return func(bool) {}
	}
	before := b.style
	b.quotes = append(b.quotes, false)
	number := len(b.quotes)
	b.style.quote = number
	return func(expandable bool) {
		b.style = before
		b.quotes[number-1] = expandable
	}
}

// trimLines removes blank lines at the beginning and end of text.
func trimLines(text string) string {
	text = strings.TrimRight(text, " \n")
	rest := strings.TrimLeft(text, " \n")
	return text[1+strings.LastIndexByte(text[:len(text)-len(rest)], '\n'):]
}

// maxLanguageBytes exceeds the length of every language name.
const maxLanguageBytes = 32

// languageName returns s if s looks like a language name, otherwise "".
func languageName(s string) string {
	if len(s) > maxLanguageBytes || strings.ContainsFunc(s, func(c rune) bool {
		return c >= utf8.RuneSelf || !isWordByte(byte(c)) && !strings.ContainsRune("+-#._", c)
	}) {
		return ""
	}
	return s
}

// isWordByte reports whether c is an ASCII letter or digit.
func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// stylesOf converts a document to runs, registering links, codes and quotes in the
// builder b.
func stylesOf(d Document, b *Builder) []run {
	spans := spansOf(d)
	styles := make([]style, len(spans))
	borders := []int{len(d.Text)}
	for i, s := range spans {
		styles[i] = b.enter(s.entity)
		borders = append(borders, s.start, s.end)
	}
	slices.Sort(borders)
	var runs []run
	at := 0
	for _, border := range slices.Compact(borders) {
		if border == 0 {
			continue
		}
		for len(spans) > 0 && spans[0].end <= at {
			spans, styles = spans[1:], styles[1:]
		}
		r := run{end: border}
		for i, s := range spans {
			if s.start > at {
				break
			}
			if at < s.end {
				r.style = r.style.with(styles[i])
			}
		}
		runs, at = append(runs, r), border
	}
	return runs
}

// with returns the combination of two styles.
func (s style) with(o style) style {
	return style{s.marks | o.marks, max(s.link, o.link), max(s.code, o.code), max(s.quote, o.quote)}
}
