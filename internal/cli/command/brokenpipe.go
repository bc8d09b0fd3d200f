package command

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollInterval is the time between two checks of the output.
const pollInterval = 200 * time.Millisecond

// ErrBrokenPipe ends a command whose output has no reader any more.
var ErrBrokenPipe = errors.New("nobody reads the output any more")

// CancelOnBrokenPipe cancels the context when standard output loses its reader, as after
// `| head -1`. Otherwise a command that follows events would notice only at the next line,
// and wait forever without events. The returned function restores the context.
func CancelOnBrokenPipe(c *Context) (end func()) {
	before := c.Context
	ctx, cancel := context.WithCancelCause(before)
	c.Context = ctx
	end = func() { cancel(nil); c.Context = before }
	out, ok := c.Out.(*os.File)
	if !ok {
		return end
	}
	go func() { // ends with ctx
		for tick := time.Tick(pollInterval); ; {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if hasNoReader(out) {
				cancel(ErrBrokenPipe)
			}
		}
	}()
	return end
}

// hasNoReader reports whether the other end of a pipe, socket or terminal is closed.
// poll(2) reports that without being asked.
func hasNoReader(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
