// Package screen knows what a text is shown on: how wide that is, whether it has
// colours, and where a line may be broken.
package screen

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Plain is how wide a screen is taken to be that no terminal shows, in cells.
const Plain = 80

// Columns returns the width of the terminal that w is, in cells; [Plain] and false if
// it is none.
func Columns(w io.Writer) (n int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok {
		return Plain, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return Plain, false
	}
	if size.Col == 0 { // a terminal that nobody has told its size
		return Plain, true
	}
	return int(size.Col), true
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
