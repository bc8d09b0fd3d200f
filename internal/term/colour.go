package term

import (
	"io"
	"os"
)

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

// Good colours success.
func (p Palette) Good(s string) string { return p.Paint(Green, s) }

// Bad colours failure.
func (p Palette) Bad(s string) string { return p.Paint(Red, s) }

// Busy colours work in progress.
func (p Palette) Busy(s string) string { return p.Paint(Yellow, s) }

// Faint colours less important text.
func (p Palette) Faint(s string) string { return p.Paint(Faint, s) }

// Bold colours important text.
func (p Palette) Bold(s string) string { return p.Paint(Bold, s) }

// Paint returns a text in a colour.
func (p Palette) Paint(c Colour, s string) string {
	if !p.On || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
