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
