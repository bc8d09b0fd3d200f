package term

import (
	"io"
	"os"
)

// A Colour is how a text looks: ECMA-48, 8.3.117. The empty one changes nothing.
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

// A Palette colours what a terminal shows. The zero value colours nothing.
type Palette struct{ On bool }

// PaletteFor returns the palette of what w shows: none where it is no terminal, or
// nobody wants colours (https://no-color.org).
func PaletteFor(w io.Writer) Palette {
	_, terminal := Columns(w)
	return Palette{On: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Good is for what went well, or is ready.
func (p Palette) Good(s string) string { return p.Paint(Green, s) }

// Bad is for what failed.
func (p Palette) Bad(s string) string { return p.Paint(Red, s) }

// Busy is for what is under way.
func (p Palette) Busy(s string) string { return p.Paint(Yellow, s) }

// Faint is for what matters less.
func (p Palette) Faint(s string) string { return p.Paint(Faint, s) }

// Bold is for what matters most.
func (p Palette) Bold(s string) string { return p.Paint(Bold, s) }

// Paint returns a text in a colour.
func (p Palette) Paint(c Colour, s string) string {
	if !p.On || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
