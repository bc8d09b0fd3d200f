package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bareclaw/internal/term"
)

// maxWidth is the length of the longest comfortable line.
const maxWidth = 110

// StyleFor returns the width and colours for the output w.
func StyleFor(w io.Writer) Style {
	width, terminal := term.Columns(w)
	if !terminal {
		width = maxWidth
	}
	return Style{Colour: term.PaletteFor(w).On, Width: min(width, maxWidth)}
}

// Watch returns a function for [Options.Progress] that shows the unfinished checks on a
// terminal, nil if w is no terminal.
func Watch(w io.Writer) func(waiting []string) {
	width, terminal := term.Columns(w)
	if !terminal {
		return nil
	}
	return func(waiting []string) {
		line := ""
		if len(waiting) > 0 {
			line = fmt.Sprintf("%d of %d done, looking at: %s", len(checks())-len(waiting), len(checks()), strings.Join(waiting, ", "))
		}
		for utf8.RuneCountInString(line) >= width {
			line = line[:len(line)-1] // names of checks are ASCII
		}
		_, _ = fmt.Fprint(w, "\r\x1b[K"+line) // a failed write only affects the display
	}
}
