package pipe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bareclaw/internal/peercred"
)

// A Socket is one end of the connection between a daemon and a session host. The runtime
// would poll a net.UnixConn for input and room at once, and wake this process whenever the
// other end reads. A Socket polls an epoll instance instead, for input alone.
type Socket struct {
	Reader
	file    *os.File        // the connection, unknown to the runtime's poller
	conn    syscall.RawConn // of file; keeps the file open during a call
	input   *os.File        // the epoll instance
	writeBy time.Time       // bounds Write; none if zero
}

// NewSocket takes over a connection. NewSocket closes the connection and returns an error
// unless the other end is a process of this user.
func NewSocket(c net.Conn) (*Socket, error) {
	defer func() { _ = c.Close() }()
	conn, err := peercred.SameUser(c)
	if err != nil {
		return nil, err
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll instance: %w", err)
	}
	_ = unix.SetNonblock(fd, true) // for the runtime's poller
	s := &Socket{input: os.NewFile(uintptr(fd), "epoll")}
	s.Reader = Reader{read: s.readNow}
	s.Reader.conn, _ = s.input.SyscallConn() // fails for nil alone, as below
	if s.file, err = unpolled(conn); err == nil {
		s.conn, _ = s.file.SyscallConn()
		_ = s.conn.Control(func(socket uintptr) {
			err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(socket), &unix.EpollEvent{Events: unix.EPOLLIN})
		})
	}
	if err != nil {
		_, _ = s.input.Close(), s.file.Close() // file may be nil
		return nil, fmt.Errorf("take over a connection: %w", err)
	}
	return s, nil
}

// unpolled returns a non-blocking copy of the connection, unknown to the runtime's poller:
// os.NewFile registers only descriptors that do not block.
func unpolled(c *net.UnixConn) (file *os.File, err error) {
	conn, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	closed := conn.Control(func(fd uintptr) {
		var dup int
		if dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			_ = unix.SetNonblock(dup, false)
			file = os.NewFile(uintptr(dup), "socket")
			_ = unix.SetNonblock(dup, true)
		}
	})
	return file, errors.Join(closed, err)
}

// pending reports whether the epoll instance has input. Without the call, the instance would
// stay readable, and the next input would go unnoticed. Like readNow, pending bypasses Go's
// scheduler.
func pending(epoll uintptr) bool {
	var event unix.EpollEvent
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0)
	return errno == 0 && n > 0
}

// AwaitInput waits until Read would not.
func (s *Socket) AwaitInput() error { return s.Reader.conn.Read(pending) }

func (s *Socket) readNow(epoll uintptr, p []byte) (n int, err error) {
	closed := s.conn.Control(func(fd uintptr) {
		n, err = readNow(fd, p)
		for errors.Is(err, syscall.EAGAIN) && pending(epoll) {
			n, err = readNow(fd, p)
		}
	})
	if closed != nil {
		return 0, closed
	}
	return n, err
}

// Write waits until all of p is taken. It occupies a thread meanwhile: only an end that does
// not read makes the other wait.
func (s *Socket) Write(p []byte) (n int, err error) {
	closed := s.conn.Control(func(fd uintptr) { // the descriptor stays open until then
		for n < len(p) && err == nil {
			var taken int
			taken, err = WriteNow(fd, p[n:])
			n += taken
			if errors.Is(err, syscall.EAGAIN) {
				err = s.awaitRoom(fd)
			}
		}
	})
	return n, errors.Join(closed, err)
}

func (s *Socket) awaitRoom(fd uintptr) error {
	wait := -1 // for ever
	if !s.writeBy.IsZero() {
		wait = int(max(0, time.Until(s.writeBy).Milliseconds()))
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, wait)
	switch {
	case errors.Is(err, unix.EINTR):
		return nil
	case n == 0 && err == nil:
		return os.ErrDeadlineExceeded
	}
	return err
}

// SyscallConn serves a Writer.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return s.conn, nil }

// SetReadDeadline bounds Read, as net's does.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.input.SetReadDeadline(t) }

// SetWriteDeadline bounds each Write from now on.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	s.writeBy = t
	return nil
}

// CloseRead ends the input: Read returns the bytes that have arrived, and then io.EOF.
func (s *Socket) CloseRead() (err error) {
	closed := s.conn.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_RD) })
	return errors.Join(closed, err)
}

// Close ends the connection, and wakes a waiting Read or Write.
func (s *Socket) Close() error {
	// A waiting Write keeps the descriptor open, and is woken here.
	_ = s.conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	return errors.Join(s.input.Close(), s.file.Close())
}
