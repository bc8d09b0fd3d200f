// Package socketpair connects a process with a child that inherits one end of the connection.
// The connection has no path, so no other process can reach either end.
package socketpair

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// New returns both ends of a stream: a connection, and a file for exactly one child, after whose
// start the caller closes the file. No other child inherits either.
func New(name string) (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), name)
	ours, err := Conn(os.NewFile(uintptr(pair[0]), name))
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// Conn returns the connection of an inherited file, which it closes.
func Conn(f *os.File) (*net.UnixConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use the inherited socket: %w", err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("the inherited socket is not a Unix socket"), c.Close())
	}
	return conn, nil
}
