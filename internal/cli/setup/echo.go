package setup

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hideTyping stops a terminal from showing typed characters. Lines and Ctrl-C work as
// before.
func hideTyping(fd int) error {
	state, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		state.Lflag &^= unix.ECHO
		err = unix.IoctlSetTermios(fd, setTermios, state)
	}
	if err != nil {
		return fmt.Errorf("hide what is typed: %w", err)
	}
	return nil
}
