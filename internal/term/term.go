// Package term prints for terminals: width, colours, line breaks, and texts without unsafe
// characters.
package term

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	xterm "golang.org/x/term"
)

// DefaultColumns is the width, in cells, of an output without a terminal.
const DefaultColumns = 80

// Columns returns the width of a terminal in cells, and whether w is a terminal. Otherwise
// the width is [DefaultColumns].
func Columns(w io.Writer) (n int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok {
		return DefaultColumns, false
	}
	n, _, err := xterm.GetSize(int(f.Fd()))
	if err != nil {
		return DefaultColumns, false
	}
	return cmp.Or(n, DefaultColumns), true // some terminals have no known size
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// A Colour is an ECMA-48 rendition (8.3.117). The empty Colour changes nothing.
type Colour string

// The colours.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
	Faint  Colour = "2"
	Bold   Colour = "1"
)

// A Palette colours texts for a terminal. The zero value colours nothing.
type Palette struct{ On bool }

// PaletteFor returns the palette for the output w: no colours unless w is a terminal and
// colours are wanted (https://no-color.org).
func PaletteFor(w io.Writer) Palette {
	_, terminal := Columns(w)
	return Palette{On: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Paint returns a text in a colour.
func (p Palette) Paint(c Colour, s string) string {
	if !p.On || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// IsUnsafe reports whether a terminal may do more with a character than show it. Line ends
// and tabs are unsafe too.
func IsUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// SafeJSON escapes the unsafe characters of a JSON document, except line ends, which
// separate its parts. Unsafe characters occur only in strings. Bytes that are not UTF-8
// become U+FFFD.
func SafeJSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, func(r rune) bool { return r == utf8.RuneError || r != '\n' && IsUnsafe(r) }) {
		return doc
	}
	b := make([]byte, 0, len(doc)+len(doc)/8)
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		if r != '\n' && IsUnsafe(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
		doc = doc[size:]
	}
	return b
}

// Safe replaces unsafe characters of a text by U+FFFD: control characters, which could
// move the cursor or control the terminal, and characters that change the direction of
// writing. Line ends and tabs stay.
func Safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case IsUnsafe(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// SafeSentence is SafeLine for a text that stands alone, such as an error: the result
// begins with a capital letter and ends with a full stop or question mark.
func SafeSentence(s string) string {
	first, size := utf8.DecodeRuneInString(SafeLine(s))
	if size == 0 {
		return ""
	}
	rest := SafeLine(s)[size:]
	if !strings.HasSuffix(rest, "?") {
		rest = strings.TrimSuffix(rest, ".") + "."
	}
	return string(unicode.ToUpper(first)) + rest
}

// SafeLine is Safe for a text on one line.
func SafeLine(s string) string { return strings.Join(strings.Fields(Safe(s)), " ") }

// Wrap breaks a text between words into lines of at most width cells. A longer word, such
// as a path, and a command in backticks stay whole on a line, so that they can be copied.
func Wrap(text string, width int) []string {
	words := regexp.MustCompile("(?:`[^`]*`|[^\\s])+") // compiled here, because session hosts need none
	var lines []string
	line := ""
	for _, word := range words.FindAllString(text, -1) {
		switch {
		case line == "":
			line = word
		case uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// ActionPrefix begins an advice. The following lines of the advice are indented to match.
const ActionPrefix = "-> "

// WrapIndented indents the lines of a text, and wraps them if out is a terminal. The rest
// of an indented line keeps the indent.
func WrapIndented(out io.Writer, indent, text string) string {
	width, terminal := Columns(out)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		before := indent + line[:len(line)-len(rest)]
		if !terminal {
			lines = append(lines, before+rest)
			continue
		}
		beside := before
		if strings.HasPrefix(rest, ActionPrefix) {
			beside += strings.Repeat(" ", len(ActionPrefix))
		}
		for _, part := range Wrap(rest, width-len(beside)) {
			lines = append(lines, before+part)
			before = beside
		}
	}
	return strings.Join(lines, "\n")
}
