package proc

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwaitInput blocks until a read from the connection would not wait: for input, the end of
// input or an error. It returns os.ErrDeadlineExceeded at the read deadline, and
// net.ErrClosed or os.ErrClosed when the connection is closed. The goroutine occupies no
// thread. The connection must be one that the runtime polls.
func AwaitInput(conn syscall.RawConn) error {
	var pollErr error
	waited := false
	err := conn.Read(func(fd uintptr) bool {
		if waited { // the runtime has seen the input
			return true
		}
		waited = true
		var n int
		n, pollErr = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if errors.Is(pollErr, unix.EINTR) {
			pollErr = nil
		}
		return n > 0 || pollErr != nil
	})
	return errors.Join(err, pollErr)
}
