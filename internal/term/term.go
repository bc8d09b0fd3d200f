// Package term knows the terminal that a text is printed to: its width, its colours, where
// a line may be broken, and which characters would be commands to the terminal.
package term

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"
)

// DefaultColumns is the assumed width of an output that is no terminal, in cells.
const DefaultColumns = 80

// Columns returns the width of the terminal that w is, in cells; [DefaultColumns] and false if
// it is none.
func Columns(w io.Writer) (n int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok {
		return DefaultColumns, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return DefaultColumns, false
	}
	if size.Col == 0 { // a terminal that nobody has told its size
		return DefaultColumns, true
	}
	return int(size.Col), true
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}
