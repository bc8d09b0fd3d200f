//go:build unix && !linux

package pipe

import (
	"fmt"
	"net"
	"syscall"

	"bareclaw/internal/peercred"
	"bareclaw/internal/proc"
)

func readNow(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// WriteNow calls write(2) once, for descriptors that do not block.
func WriteNow(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

// A Socket is one end of the connection between a daemon and a session host.
type Socket struct {
	*net.UnixConn
	conn syscall.RawConn
}

// NewSocket takes over a connection. NewSocket closes the connection and returns an error
// unless the other end is a process of this user.
func NewSocket(c net.Conn) (*Socket, error) {
	conn, err := peercred.SameUser(c)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("take over a connection: %w", err)
	}
	return &Socket{conn, raw}, nil
}

// AwaitInput waits until Read would not.
func (s *Socket) AwaitInput() error { return proc.AwaitInput(s.conn) }
