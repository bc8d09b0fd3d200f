package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A tether ties a daemon to the first process, where that must stay: whoever started
// it takes its end for the end of the gateway, and may start another one, which
// would find the state directory taken. It is a pipe of which the first process
// has one end, also as a keeper, and every daemon after it the other: nothing is
// ever written, and it is cut when the first process ends, however it does.
type tether struct {
	end  *os.File      // what daemons pass on; nil where nothing has to stay
	held *os.File      // the first process's
	cut  chan struct{} // closed when the first process has ended; nil in that one
}

// make makes the pipe in the first process, once.
func (t *tether) make() (err error) {
	if t.end != nil {
		return nil
	}
	if t.end, t.held, err = os.Pipe(); err != nil {
		return fmt.Errorf("make a pipe for the daemons to come: %w", err)
	}
	return nil
}

// hold keeps the first process's end through an exec.
func (t *tether) hold() error {
	if _, err := unix.FcntlInt(t.held.Fd(), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("keep the pipe to the daemon: %w", err)
	}
	return nil
}

// watch notes, in a daemon that has taken over, when the first process ends.
func (t *tether) watch() {
	if t.end == nil {
		return
	}
	t.cut = make(chan struct{})
	go func() { // ends with one of the two processes
		_, _ = t.end.Read(make([]byte, 1))
		close(t.cut)
	}()
}
