// Package peercred identifies the user at the other end of a local connection by asking
// the kernel, without a secret.
//
// An answer holds for the moment of the call. After an error the peer is unknown and must
// not be trusted.
package peercred

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// ErrUnknownPeer means that the kernel knows no open socket at the other end: the socket
// is closed, or on another machine or in another network namespace.
var ErrUnknownPeer = errors.New("no open socket of this machine is at the other end")

// UnixUID returns the user at the other end of a Unix socket at the time of connect or
// listen. UnixUID does not block.
func UnixUID(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err == nil {
		closed := raw.Control(func(fd uintptr) { uid, err = unixPeer(int(fd)) })
		err = errors.Join(closed, err)
	}
	if err != nil {
		return 0, fmt.Errorf("peer of unix socket: %w", err)
	}
	return uid, nil
}

// UnixPID returns the process at the other end of a Unix socket at the time of connect or listen.
// UnixPID does not block.
func UnixPID(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err == nil {
		closed := raw.Control(func(fd uintptr) { pid, err = unixPeerPID(int(fd)) })
		err = errors.Join(closed, err)
	}
	if err != nil {
		return 0, fmt.Errorf("process at the other end of a unix socket: %w", err)
	}
	return pid, nil
}

// SameUser returns c if a process of this process's user is at the other end of a Unix socket.
// Otherwise, or if c is no Unix socket, it returns an error and leaves c open. SameUser does
// not block.
func SameUser(c net.Conn) (*net.UnixConn, error) {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("the peer of a %T has no credentials", c)
	}
	uid, err := UnixUID(conn)
	if err != nil {
		return nil, err
	}
	if int64(uid) != int64(os.Getuid()) {
		return nil, fmt.Errorf("the other end of the socket belongs to another user (uid %d)", uid)
	}
	return conn, nil
}

// TCPUID returns the user whose socket is the other end of a TCP connection within this
// machine, given the two addresses of our end.
//
// On systems other than Linux ok is false and err is nil. Otherwise ok is true, or err
// explains the failure; [ErrUnknownPeer] means a closed socket. The call takes some 10 µs.
func TCPUID(local, remote net.Addr) (uid uint32, ok bool, err error) {
	uid, ok, err = tcpPeer(local, remote)
	if err != nil {
		return 0, false, fmt.Errorf("peer of tcp connection: %w", err)
	}
	return uid, ok, nil
}

// MayBeSameUser reports whether the other end of a connection within this machine may belong to the user
// of this process: over TCP only Linux knows whose it is. MayBeSameUser does not block.
func MayBeSameUser(c net.Conn) bool {
	if _, isUnix := c.(*net.UnixConn); isUnix {
		_, err := SameUser(c)
		return err == nil
	}
	uid, known, err := TCPUID(c.LocalAddr(), c.RemoteAddr())
	return err == nil && (!known || int64(uid) == int64(os.Getuid()))
}
