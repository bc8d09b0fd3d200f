package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Builder composes a document piece by piece. The zero Builder is empty and
// ready; its methods return it, so that calls can be chained. It is for one
// goroutine.
type Builder struct {
	text   []byte
	runs   []run
	style  style // of what is written next
	broken bool  // a block ended: what follows begins on a line of its own

	links  []string // by number, from 1: addresses
	codes  []code   // by number, from 1
	quotes []bool   // by number, from 1: expandable
}

// A run is a piece of text in one style. It begins where the last one ends.
type run struct {
	end   int // byte offset
	style style
}

// A style is all that may be said of a piece of text. Numbers count from 1; two
// links or codes side by side differ by theirs.
type style struct {
	marks marks
	link  int
	code  int
	quote int
}

// marks are the styles that any text may have, one bit each.
type marks uint8

const (
	bold marks = 1 << iota
	italic
	underline
	strikethrough
	spoiler
)

// A code is a piece of code within a line, or a block of it.
type code struct {
	block    bool
	language string // of a block
}

// Text adds text as it is: nothing in it is markup. Invalid UTF-8, control
// characters and those that turn the direction of text become U+FFFD, line
// separators become line breaks, a tab becomes a space.
func (b *Builder) Text(text string) *Builder {
	b.write(text)
	return b
}

// Bold adds bold text.
func (b *Builder) Bold(text string) *Builder { return b.marked(bold, text) }

// Italic adds italic text.
func (b *Builder) Italic(text string) *Builder { return b.marked(italic, text) }

// Code adds code within a line.
func (b *Builder) Code(text string) *Builder {
	b.write("")
	b.inCode(code{}, text)
	return b
}

// Pre adds a block of code, on lines of its own. The language may be empty; one
// that is not the name of a language is left out. Blank lines around the code are
// left out, tabs become spaces up to the next tab stop.
func (b *Builder) Pre(language, text string) *Builder {
	b.startLine()
	b.pre(language, text)
	b.broken = true
	return b
}

// Quote adds a quotation, on lines of its own. An expandable one shows its
// first lines until it is tapped.
func (b *Builder) Quote(expandable bool, text string) *Builder {
	b.startLine()
	end := b.beginQuote()
	b.write(text)
	end(expandable)
	b.broken = true
	return b
}

// Link adds a label with an address behind it. An address that Telegram would
// refuse is shown as text, behind the label.
func (b *Builder) Link(label, address string) *Builder {
	b.write("")
	b.link(address, label, func() { b.write(label) })
	return b
}

// Add adds another document. A quotation or a block of code at its beginning or
// end gets lines of its own.
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

// Document returns what was added. The Builder may be used on.
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

// restore puts a style back: defer b.restore(b.style).
func (b *Builder) restore(s style) { b.style = s }

// startLine ends the line that was begun, if any.
func (b *Builder) startLine() {
	b.broken = false
	if !b.atLineStart() {
		b.write("\n")
	}
}

func (b *Builder) atLineStart() bool {
	return len(b.text) == 0 || b.text[len(b.text)-1] == '\n'
}

// write adds text in the current style, cleaned. An empty text only ends a line
// that a block has left open.
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

// put adds clean text in a style.
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

// inCode adds text as code. Nothing else may be said of code except that it is
// in a quote (core.telegram.org/bots/api#messageentity); within a link it is the
// link that remains.
func (b *Builder) inCode(c code, text string) {
	text = expandTabs(Clean(text))
	if b.style.link != 0 {
		b.put(b.style, text)
		return
	}
	b.codes = append(b.codes, c)
	b.put(style{code: len(b.codes), quote: b.style.quote}, text)
}

// pre adds a block of code at the beginning of a line.
func (b *Builder) pre(language, text string) {
	text = expandTabs(Clean(text))
	b.inCode(code{block: true, language: languageName(language)}, trimLines(text))
}

// beginQuote begins a quotation and returns what ends it. There is no quotation
// within another.
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

// trimLines returns the text without the blank lines it begins and ends with.
func trimLines(text string) string {
	text = strings.TrimRight(text, " \n")
	rest := strings.TrimLeft(text, " \n")
	return text[1+strings.LastIndexByte(text[:len(text)-len(rest)], '\n'):]
}

// maxLanguageBytes is more than any name of a language has.
const maxLanguageBytes = 32

// languageName returns the name of a language if it is one, or nothing.
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

// stylesOf returns the runs of a document, with links, codes and quotes
// entered in a builder.
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

// with returns what both styles say.
func (s style) with(o style) style {
	return style{s.marks | o.marks, max(s.link, o.link), max(s.code, o.code), max(s.quote, o.quote)}
}
