package setup

import (
	"strings"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// quietly are the flags of an init that writes settings and does nothing else.
var quietly = []string{"--yes", "--no-service", "--no-start", "--no-doctor"}

// runs runs init with that on its standard input. It has to end with that status.
func runs(m harness.Newcomer, status int, stdin string, args ...string) *harness.Invocation {
	m.T.Helper()
	return m.Invoke(strings.NewReader(stdin), append([]string{"init"}, args...)...).Wait(status)
}

// echoes reports whether the terminal shows what is typed.
func echoes(x *harness.Display) bool {
	x.T.Helper()
	state, err := unix.IoctlGetTermios(int(x.End.Fd()), unix.TCGETS)
	check.OK(x.T, err)
	return state.Lflag&unix.ECHO != 0
}
