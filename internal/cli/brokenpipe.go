package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// unreadEvery is how often it is looked whether somebody reads the output.
const unreadEvery = 200 * time.Millisecond

// errUnread ends a command whose output nobody reads any more.
var errUnread = errors.New("nobody reads the output any more")

// untilUnread has the context end as soon as nobody reads standard output any more, as
// after `| head -1`: without it a command that waits for what comes next would notice
// with the next line only, which may never come. The function it returns ends that.
func cancelOnBrokenPipe(c *Context) (end func()) {
	before := c.Context
	ctx, cancel := context.WithCancelCause(before)
	c.Context = ctx
	end = func() { cancel(nil); c.Context = before }
	out, ok := c.Out.(*os.File)
	if !ok {
		return end
	}
	go func() { // ends with ctx
		for tick := time.Tick(unreadEvery); ; {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			if unread(out) {
				cancel(errUnread)
			}
		}
	}()
	return end
}

// unread reports whether a file is a pipe, socket or terminal at whose other end there is
// nobody. That is told without being asked for: poll(2).
func unread(f *os.File) bool {
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
