package daemon

import (
	"fmt"
	"os"
	"strconv"

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
	kept bool          // the daemon has taken over before, and had to start anew
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

// tetherVariable is set in a daemon that starts anew in its own place: the number of
// its end.
const tetherVariable = "BARECLAW_TETHER"

// keep keeps a daemon's end through an exec, and returns the environment that says so.
func (t *tether) keep(environ []string) ([]string, error) {
	if t.end == nil || t.held != nil {
		return environ, nil // there is none, or it is the holder's own
	}
	if _, err := unix.FcntlInt(t.end.Fd(), unix.F_SETFD, 0); err != nil {
		return nil, fmt.Errorf("keep the pipe to the first process: %w", err)
	}
	return append(environ[:len(environ):len(environ)], fmt.Sprintf("%s=%d", tetherVariable, t.end.Fd())), nil
}

// keptTether returns what keep has kept.
func keptTether() (tether, error) {
	number := os.Getenv(tetherVariable)
	if number == "" {
		return tether{}, nil
	}
	fd, err := strconv.Atoi(number)
	if err == nil {
		err = os.Unsetenv(tetherVariable)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	if err != nil {
		return tether{}, fmt.Errorf("find the pipe to the first process: %w", err)
	}
	return tether{kept: true, end: os.NewFile(uintptr(fd), "tether")}, nil
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
