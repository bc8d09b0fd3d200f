package setup

import (
	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
)

// echoes reports whether the terminal shows what is typed.
func echoes(x *harness.Display) bool {
	x.T.Helper()
	state, err := unix.IoctlGetTermios(int(x.End.Fd()), unix.TCGETS)
	if err != nil {
		x.T.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
