package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is the host's end of the connection to a daemon. The runtime would poll a
// net.UnixConn for input and room at once, and wake the host whenever the daemon reads. A
// socket polls an epoll instance instead, for input alone.
type socket struct {
	pipeReader
	file    *os.File        // the connection, unknown to the runtime's poller
	conn    syscall.RawConn // of file; keeps the file open during a call
	input   *os.File        // the epoll instance
	writeBy time.Time       // bounds Write; none if zero
}

// newSocket takes over the connection, which it closes.
func newSocket(c *net.UnixConn) (*socket, error) {
	file, err := unpolled(c)
	_ = c.Close()
	if err != nil {
		_ = file.Close() // file may be nil
		return nil, fmt.Errorf("take over a connection: %w", err)
	}
	s := &socket{file: file}
	s.conn, err = file.SyscallConn()
	if err == nil {
		var failed error
		closed := s.conn.Control(func(fd uintptr) { s.input, s.pipeReader.conn, failed = watchSocket(fd, unix.EPOLLIN) })
		err = errors.Join(closed, failed)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	s.pipeReader.read = s.readNow
	return s, nil
}

// unpolled returns a non-blocking copy of the connection, unknown to the runtime's poller:
// os.NewFile registers only descriptors that do not block.
func unpolled(c *net.UnixConn) (*os.File, error) {
	conn, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var file *os.File
	closed := conn.Control(func(fd uintptr) {
		var dup int
		if dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return
		}
		err = unix.SetNonblock(dup, false)
		file = os.NewFile(uintptr(dup), "daemon")
		err = errors.Join(err, unix.SetNonblock(dup, true))
	})
	return file, errors.Join(closed, err)
}

// watchSocket returns an epoll instance that is readable when the socket has an event.
func watchSocket(socket uintptr, event uint32) (*os.File, syscall.RawConn, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("make an epoll instance: %w", err)
	}
	err = unix.SetNonblock(fd, true)          // for the runtime's poller
	epoll := os.NewFile(uintptr(fd), "epoll") // registers with the poller
	watchErr := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(socket), &unix.EpollEvent{Events: event})
	conn, connErr := epoll.SyscallConn()
	if err := errors.Join(err, watchErr, connErr); err != nil {
		_ = epoll.Close()
		return nil, nil, fmt.Errorf("watch a connection: %w", err)
	}
	return epoll, conn, nil
}

// pending reports whether the watched event is present. Without the question the instance
// would stay readable, and the next event would go unnoticed. Like readNow the call is
// hidden from the scheduler.
func pending(epoll uintptr) bool {
	var event unix.EpollEvent
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0)
	return errno == 0 && n > 0
}

func (s *socket) readNow(epoll uintptr, p []byte) (n int, err error) {
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

// Write waits until all of p is taken.
func (s *socket) Write(p []byte) (n int, err error) {
	closed := s.conn.Write(func(fd uintptr) (done bool) { // the descriptor stays open until then
		n, err = s.writeAll(fd, p)
		return true
	})
	return n, errors.Join(closed, err)
}

func (s *socket) writeAll(fd uintptr, p []byte) (n int, err error) {
	epoll, room, err := watchSocket(fd, unix.EPOLLOUT)
	if err != nil {
		return 0, err
	}
	defer func() { _ = epoll.Close() }()
	_ = epoll.SetReadDeadline(s.writeBy) // an epoll instance is pollable
	waitErr := room.Read(func(epoll uintptr) (done bool) {
		for n < len(p) {
			var taken int
			taken, err = writeNow(fd, p[n:])
			n += taken
			if errors.Is(err, syscall.EAGAIN) {
				err = nil
				if !pending(epoll) {
					return false
				}
			}
			if err != nil {
				return true
			}
		}
		return true
	})
	return n, errors.Join(waitErr, err)
}

// SyscallConn serves a pipeWriter.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.conn, nil }

// SetReadDeadline bounds Read, as net's does.
func (s *socket) SetReadDeadline(t time.Time) error { return s.input.SetReadDeadline(t) }

// SetWriteDeadline bounds each Write from now on.
func (s *socket) SetWriteDeadline(t time.Time) error {
	s.writeBy = t
	return nil
}

// CloseRead has Read return what has arrived, and then the end.
func (s *socket) CloseRead() (err error) {
	closed := s.conn.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_RD) })
	return errors.Join(closed, err)
}

// Close ends the connection, and wakes a waiting Read or Write.
func (s *socket) Close() error {
	// A waiting Write keeps the descriptor open, and is woken here.
	_ = s.conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	return errors.Join(s.input.Close(), s.file.Close())
}
