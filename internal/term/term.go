// Package term prints for terminals: width, colours, line breaks, and texts without unsafe
// characters.
package term

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
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
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return DefaultColumns, false
	}
	if size.Col == 0 { // a terminal of unknown size
		return DefaultColumns, true
	}
	return int(size.Col), true
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
