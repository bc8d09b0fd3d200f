// Package visible shows texts of others so that nothing in them is hidden: a character without
// a glyph is written as an escape, \u{200B}.
package visible

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with an escape for every character without a glyph of its own: control and
// format characters, blanks other than the space, fillers, tags, and variation selectors. Line
// ends and tabs stay, and so does what only shapes its neighbours: U+FE0F after a symbol, U+200D
// within an emoji, both joiners between letters of a script that has them. Bytes that are no
// UTF-8 become U+FFFD.
func Text(s string) string { return escape(s, hidden) }

// Prose is Text for texts that are read rather than run: the blanks of typography stay, such as
// the no-break space.
func Prose(s string) string {
	return escape(s, func(r rune) bool { return hidden(r) && !unicode.Is(unicode.Zs, r) })
}

// Words returns the words of a text on one line, as Prose shows them, with a single space between
// two of them.
func Words(s string) string { return strings.Join(strings.Fields(Prose(s)), " ") }

// Paragraphs returns a text to read, such as a plan, as Prose shows it. Long white space is
// counted as in Code.
func Paragraphs(s string) string { return compact(Prose(s)) }

// Code returns a command, or the text of a file, as Text shows it. Long runs of white space, which
// could push what follows them out of sight, are counted: ⎵×1500 between two spaces stands for
// 1,500 spaces, ⇥×40 for 40 tabs, ⎵⇥×90 for a mix of both, and a line ⏎×1200 for 1,200 empty
// lines, which may have blanks. Up to 20 blanks and 3 empty lines stay.
func Code(s string) string { return compact(Text(s)) }

// Line is Code for a text that must stay on one line, such as a name: line ends and tabs are
// escaped too.
func Line(s string) string {
	return compact(escape(s, func(r rune) bool { return hidden(r) || r == '\n' || r == '\t' }))
}

// compact counts long runs of white space, as Code says.
func compact(s string) string {
	return longRuns().ReplaceAllStringFunc(s, func(run string) string {
		if n := strings.Count(run, "\n"); n > 0 {
			return fmt.Sprintf("⏎×%d\n", n)
		}
		n, tabs := utf8.RuneCountInString(run), strings.Count(run, "\t")
		switch tabs {
		case 0:
			return fmt.Sprintf(" ⎵×%d ", n)
		case n:
			return fmt.Sprintf(" ⇥×%d ", n)
		}
		return fmt.Sprintf(" ⎵⇥×%d ", n)
	})
}

// longRuns matches what compact counts: empty lines, which begin at the start of a line, or
// blanks.
var longRuns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m:^(?:[\t\p{Zs}]*\n){4,})|[\t\p{Zs}]{21,}`)
})

// Escape returns the escape of a character.
func Escape(r rune) string { return fmt.Sprintf(`\u{%04X}`, r) }

func escape(s string, hide func(rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return hide(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	text := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	for i, r := range text {
		if hide(r) && !shapes(text, i) {
			b.WriteString(Escape(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether a character has no glyph of its own.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	case '\u2800', '\uFFFC': // the blank of Braille; a stand-in for an object
		return true
	}
	if r <= unicode.MaxASCII {
		return r < ' ' || r == 0x7F
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // signs above the digits that follow
}

const (
	nonJoiner = '\u200C'
	joiner    = '\u200D'
	asText    = '\uFE0E'
	asEmoji   = '\uFE0F'
	keycap    = '\u20E3'
)

// shapes reports whether the hidden character at i changes how its neighbours look, as it is
// meant to.
func shapes(text []rune, i int) bool {
	var before, after rune
	if i > 0 {
		before = text[i-1]
	}
	if i+1 < len(text) {
		after = text[i+1]
	}
	switch text[i] {
	case asEmoji, asText:
		return isSymbol(before) || after == keycap && strings.ContainsRune("0123456789#*", before)
	case joiner:
		return (isSymbol(before) || before == asEmoji && i > 1 && isSymbol(text[i-2])) && isSymbol(after) || isJoined(before, after)
	case nonJoiner:
		return isJoined(before, after)
	}
	return false
}

// isSymbol reports whether an emoji may consist of the character.
func isSymbol(r rune) bool {
	return r > unicode.MaxASCII && (unicode.In(r, unicode.So, unicode.Sm) || r == '‼' || r == '⁉' || r == '〰' || r == 'ℹ' ||
		r >= 0x1F3FB && r <= 0x1F3FF) // tones of skin
}

// joining are scripts whose letters change with their neighbours, which the joiners control:
// https://www.unicode.org/versions/Unicode16.0.0/core-spec/chapter-23/#G23126
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
}

// isJoined reports whether a joiner between two characters can have an effect: both are letters,
// or marks of letters, of one such script.
func isJoined(before, after rune) bool {
	for _, script := range joining {
		if unicode.Is(script, before) && unicode.Is(script, after) {
			return unicode.In(before, unicode.L, unicode.M) && unicode.In(after, unicode.L, unicode.M)
		}
	}
	return false
}
