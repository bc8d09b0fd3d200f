package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A tether ties a daemon to the process that whoever started the gateway knows of:
// when that ends another one may be started, which would find the state directory
// taken. It is a pipe of which that process holds one end, and a daemon that has
// taken over the other. It is cut when the holder ends, however it does.
//
// Where the first process must stay, that holds it for good, also as a keeper, and
// each daemon passes its end on. Where a service manager is told of each new main
// process, the old one holds it until it has told, and then lets go.
type tether struct {
	end  *os.File      // what is passed on to a daemon to come
	held *os.File      // the holder's
	cut  chan struct{} // closed when the holder has ended; nil where there is none
}

// make makes the pipe in the holder, unless it has one.
func (t *tether) make() (err error) {
	if t.end != nil {
		return nil
	}
	if t.end, t.held, err = os.Pipe(); err != nil {
		return fmt.Errorf("make a pipe for the daemon to come: %w", err)
	}
	return nil
}

// hold keeps the holder's end through an exec.
func (t *tether) hold() error {
	if _, err := unix.FcntlInt(t.held.Fd(), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("keep the pipe to the daemon: %w", err)
	}
	return nil
}

// letGo tells the daemon that it is known by itself now.
func (t *tether) letGo() { _, _ = t.held.Write([]byte{0}) } // it may have ended

// watch notes, in a daemon that has taken over, when the holder ends. One that is
// only held until it is known passes nothing on.
func (t *tether) watch(untilKnown bool) {
	end := t.end
	if end == nil {
		return
	}
	if untilKnown {
		t.end = nil
	}
	t.cut = make(chan struct{})
	go func() { // ends with one of the two processes, or when it is let go
		if n, _ := end.Read(make([]byte, 1)); n == 0 {
			close(t.cut)
		}
	}()
}
